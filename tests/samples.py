"""The sample programs, their rubrics and rows, loaded once for all tests of them."""

import re
from functools import cache
from pathlib import Path

from redraft.program import Program, load_base
from redraft.records import Row, Score
from redraft.rubric import Rubric, load_rubric
from redraft.trainset import load_trainset

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("product_blurb", "tenant_notice")


@cache
def program(name: str) -> Program:
    """Return a sample program, loaded once."""
    return load_base(ROOT, name)


@cache
def rubric(name: str) -> Rubric:
    """Return a sample rubric, loaded once."""
    return load_rubric(ROOT, name)


@cache
def rows(name: str) -> tuple[Row, ...]:
    """Return the rows of a sample, read once."""
    return load_trainset(ROOT, name, input_fields=("request",)).rows


def measured(name: str, request: str, draft: str) -> Score:
    """Return the score of a draft."""
    return rubric(name).score(Row("r", program(name).facts({"request": request})), draft)


def runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of three words."""
    tokens = re.findall(r"\w+", text.casefold())
    return {tuple(tokens[i : i + 3]) for i in range(len(tokens) - 2)}
