"""An interrupted answer goes on: what it paid for is taken as it was, the rest is asked."""

from collections.abc import Iterator, Mapping
from dataclasses import fields

from redraft.budget import Caps
from redraft.calls import LostCall, NoReply, RecordedCall
from redraft.errors import ResumeError
from redraft.program import Program
from redraft.records import Answer, Loop, Role, Usage
from redraft.replies import Reply
from redraft.session import AnswerRun
from redraft.traces.codec import to_plain
from redraft.traces.store import TraceStore
from redraft.traces.trace import StoredCall, Trace
from redraft.traces.writer import options_digest, prompt_digests

# These say when a loop ends, not what it asks: they may differ, so that a cap can be raised.
_FREE = frozenset({"enabled", "max_revisions", "patience", "returns"})


def resume(
    store: TraceStore,
    trace_id: str,
    program: Program,
    *,
    inputs: Mapping[str, object] | None = None,
    caps: Caps | None = None,
) -> Answer:
    """Go on with a stored answer, in the same trace; no recorded call is made again.

    Args:
        store: Where it is stored.
        trace_id: The trace, finished or not.
        program: What answers; when its loop ends may differ, what it asks may not.
        inputs: Those of the trace, where the caller wants them compared; None to take them.
        caps: Hard stops of the whole answer; recorded calls and those in flight count.

    Raises:
        ResumeError: What would answer is not what answered before, or texts were redacted.
        TraceError: There is no such trace.
    """
    trace = store.load(trace_id)
    differences = tuple(_differences(trace, program, inputs))
    if differences:
        raise ResumeError(f"trace {trace.id} cannot be resumed:", differences)
    run = AnswerRun(
        seed=trace.start.seed,
        caps=caps,
        recording=store.reopen(trace.id),
        recorded=recorded_calls(trace),
    )
    return program.answer_run(trace.start.inputs, run)


def recorded_calls(trace: Trace) -> tuple[RecordedCall | LostCall, ...]:
    """Return the calls of a trace as a run of the same answer takes them.

    A call in flight when the run was ended, one that a cap stopped, and one that met an outage
    are spent, and are made again.
    """
    return tuple(_recorded(call) for call in trace.calls)


def _recorded(call: StoredCall) -> RecordedCall | LostCall:
    outcome = call.outcome
    outage = isinstance(outcome, NoReply) and outcome.failure.kind == "outage"
    if outage or not isinstance(outcome, Reply | NoReply):
        return LostCall(call.usage)
    return RecordedCall(outcome, call.usage or Usage(), call.digest)


def _differences(
    trace: Trace, program: Program, inputs: Mapping[str, object] | None
) -> Iterator[str]:
    start, state = trace.start, program.state()
    if trace.redacted:
        yield "its texts were redacted, so its calls cannot be taken for what was said"
    if trace.program != program.name:
        yield f"the program was {trace.program!r}, now {program.name!r}"
    if inputs is not None and to_plain(inputs) != start.inputs:
        yield "the inputs are others; leave them out to take those of the trace"
    for role, now in _other_models(trace, program):
        yield f"the {role} was {start.models.get(role)!r}, now {now!r}"
    prompts = prompt_digests(state)
    for name in dict.fromkeys(call.predictor for call in trace.calls):
        if not _same_prompt(name, start.prompts, prompts):
            yield f"the instructions or demos of {name!r} changed"
    if start.options != options_digest(state.options):
        yield "the options (max_tokens, temperatures) changed"
    yield from _loop_differences(start.loop, program.loop)
    # Where the checker's own prompt changed, that was said already.
    if start.checker_digest != program.checker_digest and _same_prompt(
        "check", start.prompts, prompts
    ):
        yield "the checks or criteria changed"


def _other_models(trace: Trace, program: Program) -> Iterator[tuple[Role, str | None]]:
    names = {} if program.models is None else program.models.names()
    for role in dict.fromkeys(call.role for call in trace.calls):
        if names.get(role) != trace.start.models.get(role):
            yield role, names.get(role)


def _same_prompt(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether a predictor, or each predictor of a drafter that is a module, is as it was."""
    names = {n for n in (*before, *now) if n == name or n.startswith(f"{name}.")}
    return all(before.get(n) == now.get(n) for n in names)


def _loop_differences(before: Loop, now: Loop) -> Iterator[str]:
    for field in fields(Loop):
        old, new = getattr(before, field.name), getattr(now, field.name)
        if field.name not in _FREE and old != new:
            yield f"{field.name} was {old!r}, now {new!r}"
