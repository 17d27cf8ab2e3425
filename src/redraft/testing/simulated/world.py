"""A simulated world: program, rubric, rows and model, and what any candidate is truly worth."""

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from redraft.errors import ConfigError
from redraft.lm.model import Models
from redraft.program import Program
from redraft.records import Check, Criterion, Loop, ProgramState, Role, Row
from redraft.rubric import Measure, Rubric
from redraft.testing.engines import models_of
from redraft.testing.simulated.effects import Part, Prompt, chance
from redraft.testing.simulated.engine import REPLY_TOKENS, Simulated
from redraft.testing.simulated.mind import Mind
from redraft.testing.simulated.notes import (
    FIELD,
    INSTRUCTIONS,
    KINDS,
    OPENING,
    PARTS,
    Content,
    Task,
    find_task,
    gap_of,
    make_task,
    read_draft,
    share,
    write_draft,
)
from redraft.testing.simulated.reading import RULE, read_prompt, turns_of
from redraft.testing.simulated.truth import FORM_WEIGHT, WORDS_WEIGHT, expected_score

CheckedBy = Literal["code", "model"]

_INPUT = "request"
_PASSING = 0.9
_STATEMENT = f"The text starts with {OPENING.strip()!r} and uses each word that the request names."
_PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A small project whose model is simulated, so that the truth about it is known.

    Every row asks for a note that uses four words. A draft is worth a quarter for its form and
    the rest for the words; it is whole when nothing is missing. The expected score of any
    candidate over all rows there could be is worked out exactly by `true_score`, so an optimizer
    can be judged by what it really gained, and not by what it measured.

    Attributes:
        name: A word.
        finds: What an optimizer must find here, in a sentence.
        mind: The latent model.
        loop: Settings that the program declares.
        checked_by: Whether code or the checker's model judges drafts. Code that errs does so by a
            digest of the draft.
        rule: The check's rule, which may be pasted into the instructions.
        sentences: What proposals of instructions are made of.
        group_size: Rows in a group; they have one kind and one level.
        sloppy: Share in [0, 1] of rows whose reference lacks a word.
    """

    name: str
    finds: str
    mind: Mind
    loop: Loop = field(default_factory=lambda: Loop(max_revisions=0))
    checked_by: CheckedBy = "code"
    rule: str = f"Start with {OPENING.strip()!r} and use each word that the request names."
    sentences: tuple[str, ...] = ()
    group_size: int = 1
    sloppy: float = 0.0

    def program(self) -> Program:
        """Return the program as its file would stand; models are not named yet."""
        by_code = self.checked_by == "code"
        program = Program(
            f"{_INPUT} -> {FIELD}",
            checks=[Check(RULE, self._gap, self.rule)] if by_code else [],
            criteria=[] if by_code else [Criterion(RULE, _STATEMENT)],
            loop=self.loop,
        )
        state = program.state()
        draft = replace(state.predictors["draft"], instructions=INSTRUCTIONS)
        told = replace(state, predictors={**state.predictors, "draft": draft})
        return program.with_state(told).named(self.name)

    def rubric(self) -> Rubric:
        """Return the rubric: the form, and the share of words that are used."""
        return Rubric(
            [Measure("form", FORM_WEIGHT, _form), Measure("words", WORDS_WEIGHT, _words)],
            passing=_PASSING,
            name=self.name,
        )

    def rows(self, n: int, seed: int = 0) -> tuple[Row, ...]:
        """Return rows drawn from all there could be; other seeds give other rows.

        Args:
            n: How many.
            seed: Seed of the draw.
        """
        draw = random.Random(f"{self.name}/{seed}")
        codes = [f"{draw.getrandbits(48):012x}" for _ in range(-(-n // self.group_size))]
        return tuple(
            self._row(make_task(draw, codes[number // self.group_size], number))
            for number in range(n)
        )

    def engine(self) -> Simulated:
        """Return the simulated model."""
        return Simulated(self.mind, name=f"simulated/{self.name}", sentences=self.sentences)

    def models(self) -> Models:
        """Return the simulated model in every role."""
        return models_of(self.engine())

    def true_score(self, state: ProgramState) -> float:
        """Return the expected score of a candidate over all rows and draws, in [0, 1].

        Demos are taken to come from other rows than those that are answered.

        Args:
            state: What tuning may change, such as `program().state()`.

        Raises:
            ConfigError: A role's `max_tokens` is so small that it would cut whole replies.
            ProgramError: The state does not fit the program.
        """
        _require_room(state)
        prompts = self._prompts(state)
        votes = 1 if self.checked_by == "code" else state.loop.votes
        return math.fsum(
            level.weight
            / len(KINDS)
            * expected_score(
                self.mind.chances(
                    kind,
                    level,
                    draft=prompts["draft"],
                    check=prompts.get("check"),
                    revise=prompts.get("revise"),
                ),
                state.loop,
                votes=votes,
            )
            for kind in KINDS
            for level in self.mind.levels
        )

    def true_gain(self, state: ProgramState, over: ProgramState | None = None) -> float:
        """Return what a candidate truly gains, in [-1, 1].

        Args:
            state: The candidate.
            over: What it is compared with; None for the program as it stands.
        """
        return self.true_score(state) - self.true_score(over or self.program().state())

    def write_project(self, root: Path, *, rows: int, seed: int = 0) -> Path:
        """Write a project that the commands and `compile_program` can work on.

        Args:
            root: Its folder; made where it is missing.
            rows: How many rows it has.
            seed: Seed of their draw.

        Returns:
            The folder.
        """
        source = "from redraft.testing.simulated import world_named\n\n"
        world = f"world_named({self.name!r})"
        files = {
            "pyproject.toml": '[tool.redraft]\nlm = "scripted/model.py"\n',
            "model.py": f"{source}reply = {world}.engine().reply\n",
            f"programs/{self.name}.py": f"{source}PROGRAM = {world}.program()\n",
            f"metrics/{self.name}.py": f"{source}RUBRIC = {world}.rubric()\n",
            f"trainsets/{self.name}/rows.jsonl": "".join(map(_line, self.rows(rows, seed))),
        }
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return root

    def _row(self, task: Task) -> Row:
        words = task.words
        if share("sloppy", task.text) < self.sloppy:
            words = words[:-1]
        draft = write_draft(Content(True, words), mark=task.group)
        return Row(
            f"{task.group}-{task.text.partition('-')[2].partition('.')[0]}",
            {_INPUT: task.text},
            {"draft": draft},
            tags=(task.kind,),
            group=task.group,
        )

    def _gap(self, facts: Mapping[str, object], draft: str) -> str | None:
        task = _task(facts)
        content = read_draft(task, draft)
        errs = share("errs", task.text, draft) >= chance(self.mind.judge.base)
        return None if content.whole is not errs else gap_of(task, content)

    def _prompts(self, state: ProgramState) -> dict[Part, Prompt]:
        """Return what each predictor is shown, read as the model reads it."""
        program = self.program().with_state(state)
        fields = {_INPUT: "", "previous_draft": "", "gaps": "", "draft": ""}
        names = {name for name, _ in program.named_predictors()}
        prompts: dict[Part, Prompt] = {}
        for part in _PARTS:
            if part in names:
                turns = turns_of(program.render(part, fields))
                prompts[part] = read_prompt(part, turns.system, turns.shown)
        return prompts


def _task(facts: Mapping[str, object]) -> Task:
    task = find_task(str(facts[_INPUT]))
    if task is None:
        raise ConfigError(f"{facts[_INPUT]!r} is no task of a simulated world")
    return task


def _form(row: Row, draft: str) -> tuple[float, str]:
    formed = read_draft(_task(row.inputs), draft).formed
    return float(formed), f"It does not start with {OPENING.strip()!r}."


def _words(row: Row, draft: str) -> tuple[float, str]:
    task = _task(row.inputs)
    content = read_draft(task, draft)
    return len(content.words) / PARTS, gap_of(task, replace(content, formed=True))


def _line(row: Row) -> str:
    record = {
        "id": row.id,
        "inputs": dict(row.inputs),
        "reference": dict(row.reference),
        "tags": list(row.tags),
        "group": row.group,
    }
    return json.dumps(record) + "\n"


def _require_room(state: ProgramState) -> None:
    roles: tuple[Role, ...] = ("drafter", "checker", "reviser")
    for role in roles:
        options = state.options.get(role)
        if options is not None and options.max_tokens < REPLY_TOKENS:
            raise ConfigError(
                f"max_tokens of the {role} is {options.max_tokens}, which cuts whole replies, so "
                f"the true score is not known; give {REPLY_TOKENS} or more"
            )
