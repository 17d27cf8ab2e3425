"""`redraft traces`: what was answered, step by step, and what another checker says of it."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, get_args

import typer

from redraft.budget import RunCaps
from redraft.cli import flags
from redraft.cli.opening import ModelFlags
from redraft.cli.output import print_record, stdout_console
from redraft.cli.trace_actions import (
    Act,
    Request,
    diff_attempts,
    list_traces,
    prune_traces,
    recheck_traces,
    show_trace,
    trace_record,
)
from redraft.errors import ConfigError
from redraft.project import find_root
from redraft.records import StoppedBy
from redraft.traces import TraceFilter, TraceStore, open_store

EXAMPLE = "redraft traces list"

_UNFINISHED = "unfinished"
_ENDS = (*get_args(StoppedBy), _UNFINISHED)


class Action(StrEnum):
    """What to do with traces."""

    LIST = "list"
    SHOW = "show"
    DIFF = "diff"
    EXPORT = "export"
    RECHECK = "recheck"
    PRUNE = "prune"


_ACTIONS: Mapping[Action, Act] = MappingProxyType(
    {
        Action.LIST: list_traces,
        Action.SHOW: show_trace,
        Action.DIFF: diff_attempts,
        Action.RECHECK: recheck_traces,
        Action.PRUNE: prune_traces,
    }
)


def command(
    action: Annotated[Action, typer.Argument(show_default=False, help="What to do.")],
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            show_default="none",
            help="A trace, four digits suffice; diff takes two attempts after it; recheck many.",
        ),
    ] = None,
    *,
    program: Annotated[
        str | None,
        typer.Option(
            "--program", metavar="NAME", show_default="all", help="Only traces of this program."
        ),
    ] = None,
    passed: Annotated[
        bool | None,
        typer.Option("--passed/--not-passed", show_default="all", help="Only those that did."),
    ] = None,
    stopped_by: Annotated[
        str | None,
        typer.Option(
            "--stopped-by",
            metavar="END",
            show_default="all",
            help=f"Only those that ended so: {', '.join(_ENDS)}.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="List the N newest.")
    ] = 20,
    lm: flags.Lm = None,
    checker_lm: flags.CheckerLm = None,
    artifact: Annotated[
        str | None,
        typer.Option(
            "--artifact",
            metavar="ID|current|base",
            show_default="what answered",
            help="What judges again.",
        ),
    ] = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    max_cost_usd: flags.MaxCostUsd = None,
    max_seconds: flags.MaxSeconds = None,
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            metavar="DAYS",
            min=0,
            show_default="any age",
            help="Prune only what is older.",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep", metavar="N", min=0, show_default="none", help="Never prune the N newest."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FILE",
            show_default="traces in [tool.redraft], else .redraft/traces.sqlite",
            help="The file that holds the traces.",
        ),
    ] = None,
    dry_run: flags.DryRun = False,
    as_json: flags.Json = False,
) -> None:
    """List, show, compare, export, judge again or prune stored answers."""
    root = find_root()
    console = stdout_console()
    opened = open_store(root, store)
    request = Request(
        root=root,
        ids=tuple(ids or ()),
        wanted=_wanted(program, passed, stopped_by),
        limit=limit,
        models=ModelFlags(lm=lm, checker=checker_lm),
        artifact=artifact,
        caps=RunCaps(
            max_calls=max_calls,
            max_tokens=max_tokens,
            max_cost_usd=max_cost_usd,
            max_seconds=max_seconds,
        ),
        older_than=older_than,
        keep=keep,
        dry_run=dry_run,
        as_json=as_json,
        plain=not console.is_terminal,
    )
    if action is Action.EXPORT:
        _export(opened, request)
        return
    record, text = _ACTIONS[action](opened, request)
    opened.close()
    if as_json:
        print_record(record)
    else:
        console.print(text, markup=False)


def _wanted(program: str | None, passed: bool | None, end: str | None) -> TraceFilter:
    if end == _UNFINISHED:
        return TraceFilter(program=program, passed=passed, finished=False)
    known: Mapping[str, StoppedBy] = {word: word for word in get_args(StoppedBy)}
    if end is not None and end not in known:
        raise ConfigError(f"--stopped-by {end!r} is no end; the ends are {', '.join(_ENDS)}")
    return TraceFilter(
        program=program, passed=passed, stopped_by=None if end is None else known[end]
    )


def _export(store: TraceStore, request: Request) -> None:
    """Print the traces that are meant as JSON Lines, oldest first, one by one."""
    for trace in store.traces(request.wanted):
        if not request.ids or any(trace.id.startswith(prefix) for prefix in request.ids):
            print(json.dumps(trace_record(trace), ensure_ascii=False))
    store.close()
