"""What `redraft traces` does with a store: list, show, compare, judge again, prune."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.text import Text

from redraft.budget import Meter, RunCaps
from redraft.cli.opening import ModelFlags, open_models, open_program
from redraft.cli.spending import Plan, settle
from redraft.cli.trace_text import agreement_text, attempts_diff, summaries_text, trace_text
from redraft.errors import ConfigError
from redraft.estimate import NOTHING, Span, Work
from redraft.lm import Models
from redraft.program import Program
from redraft.records import Attempt, Row
from redraft.traces import (
    Agreement,
    Trace,
    TraceFilter,
    TraceStore,
    agreement,
    recheck,
    to_plain,
)

Done = tuple[dict[str, object], Text | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line asks of the traces.

    Attributes:
        root: The project.
        ids: Words after the action.
        wanted: Which traces are meant by a list, an export.
        limit: How many of the newest.
        models: Models for judging again.
        artifact: What judges again; None for what answered.
        caps: Hard stops of judging again.
        older_than: Age in days from which traces may go; None for any.
        keep: How many of the newest stay.
        dry_run: Whether to say what would be done, and do nothing.
        as_json: Whether the record is printed.
        plain: Whether no colour is shown.
    """

    root: Path
    ids: tuple[str, ...] = ()
    wanted: TraceFilter = field(default_factory=TraceFilter)
    limit: int | None = None
    models: ModelFlags = field(default_factory=ModelFlags)
    artifact: str | None = None
    caps: RunCaps = field(default_factory=RunCaps)
    older_than: float | None = None
    keep: int | None = None
    dry_run: bool = False
    as_json: bool = False
    plain: bool = True


Act = Callable[[TraceStore, Request], Done]


def list_traces(store: TraceStore, request: Request) -> Done:
    """Return the newest traces that are meant."""
    summaries = store.summaries(request.wanted, limit=request.limit)
    return {"traces": [asdict(summary) for summary in summaries]}, summaries_text(summaries)


def show_trace(store: TraceStore, request: Request) -> Done:
    """Return one trace as a picture of its loop."""
    trace = store.load(_one(request.ids))
    return trace_record(trace), trace_text(trace, plain=request.plain)


def diff_attempts(store: TraceStore, request: Request) -> Done:
    """Return what changed between two attempts of a trace; by default from the first to the last.

    Raises:
        ConfigError: The attempts are not two numbers of attempts that it has.
    """
    trace = store.load(_one(request.ids[:1]))
    before, after = _attempts(trace, request.ids[1:])
    text = attempts_diff(trace, before, after, plain=request.plain)
    plain = attempts_diff(trace, before, after, plain=True).plain
    return {"id": trace.id, "before": before.number, "after": after.number, "diff": plain}, text


def recheck_traces(store: TraceStore, request: Request) -> Done:
    """Judge the drafts of traces again, store the verdicts, return how far they agree.

    Raises:
        ConfigError: No trace is named.
    """
    if not request.ids:
        raise ConfigError("recheck needs the ID of one trace or more")
    traces = [store.load(trace_id) for trace_id in request.ids]
    drafts = sum(len(trace.attempts) for trace in traces)
    meter, total, judged = Meter(request.caps), Agreement(), []
    with open_models(request.root, request.models, keyless=request.dry_run) as models:
        programs = [_judge_of(request, trace, models) for trace in traces]
        work = [_recheck_work(p, trace) for p, trace in zip(programs, traces, strict=True)]
        plan = Plan(work, models, {"drafts": drafts})
        settle(plan, request.caps, dry_run=request.dry_run, as_json=request.as_json)
        for program, trace in zip(programs, traces, strict=True):
            rechecks = recheck(store, trace.id, program, meter=meter)
            total += agreement(trace.attempts, rechecks)
            judged.append({"id": trace.id, "rechecks": to_plain(rechecks)})
    return {"traces": judged, "agreement": asdict(total)}, agreement_text(total)


def prune_traces(store: TraceStore, request: Request) -> Done:
    """Delete old traces and return what went.

    Raises:
        ConfigError: Nothing says which may go, or an ID is named.
    """
    if request.ids:
        raise ConfigError("prune takes no ID; say --older-than DAYS, --keep N or both")
    if request.older_than is None and request.keep is None:
        raise ConfigError("prune needs --older-than DAYS, --keep N or both")
    pruned = store.prune(
        older_than_days=request.older_than, keep=request.keep, dry_run=request.dry_run
    )
    verb = "Would delete" if request.dry_run else "Deleted"
    text = f"{verb} {len(pruned.ids)} traces; {pruned.kept} stay."
    return asdict(pruned), text


def trace_record(trace: Trace) -> dict[str, object]:
    """Return a trace as JSON-ready values; a finished one holds its attempts in its answer."""
    record: dict[str, object] = to_plain(trace)
    if trace.answer is not None:
        del record["attempts"]
    return record


def _judge_of(request: Request, trace: Trace, models: Models) -> Program:
    chosen = request.artifact or trace.artifact_id or "base"
    return open_program(request.root, trace.program, artifact=chosen, models=models)


def _recheck_work(program: Program, trace: Trace) -> Work:
    """Return the work of judging the drafts of a trace again; code alone costs nothing."""
    drafts = [attempt.draft for attempt in trace.attempts]
    rows = [
        Row(f"{trace.id}-{number}", trace.start.inputs, {"draft": draft})
        for number, draft in enumerate(drafts, start=1)
    ]
    calls = Span(0, len(drafts), 2 * len(drafts)) if program.criteria else NOTHING
    return Work(program=program, rows=rows, calls={"checker": calls})


def _one(ids: Sequence[str]) -> str:
    if len(ids) != 1:
        raise ConfigError(f"this takes the ID of one trace, got {len(ids)}")
    return ids[0]


def _attempts(trace: Trace, given: Sequence[str]) -> tuple[Attempt, Attempt]:
    made = {str(attempt.number): attempt for attempt in trace.attempts}
    numbers = list(given) or [*list(made)[:1], *list(made)[-1:]]
    if len(numbers) != 2 or any(number not in made for number in numbers):
        raise ConfigError(
            f"diff takes an ID and two of its attempts; {trace.id} has {', '.join(made) or 'none'}"
        )
    return made[numbers[0]], made[numbers[1]]
