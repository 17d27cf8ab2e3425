"""A trace as a picture of the loop: drafts, changes, findings with their quotes, why it stopped."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from redraft.cli.answer_text import ending
from redraft.cli.marking import marked_quotes, quote_spans, word_diff
from redraft.cli.numbers import table
from redraft.cli.progress import spent_so_far
from redraft.records import Attempt, Finding, Regression, Verdict, regressions
from redraft.traces import Agreement, Recheck, StoredCall, Trace, TraceSummary

_SIGNS = (("met", "+"), ("unmet", "x"), ("cannot_assess", "?"))
_STYLES = (("met", "green"), ("unmet", "red"), ("cannot_assess", "yellow"))
_BASE = "base"


def trace_text(trace: Trace, *, plain: bool) -> Text:
    """Return a whole trace.

    Args:
        trace: The trace.
        plain: Whether no colour is shown, so that changes need marks of their own.
    """
    blocks = [_head(trace)]
    broken = regressions(trace.attempts)
    for n, attempt in enumerate(trace.attempts):
        before = trace.attempts[n - 1].draft if n else None
        rechecks = [r for r in trace.rechecks if r.number == attempt.number]
        blocks.append(_attempt(attempt, before, plain=plain))
        blocks += _judged(attempt, [r for r in broken if r.unmet_in == attempt.number])
        blocks += [_recheck_line(attempt, recheck) for recheck in rechecks]
        blocks.append(Text())
    blocks.append(_end(trace))
    return Text("\n").join(blocks)


def attempts_diff(trace: Trace, before: Attempt, after: Attempt, *, plain: bool) -> Text:
    """Return what changed from one attempt of a trace to another, in words and in findings."""
    title = f"{trace.program} {trace.id}: attempt {before.number} to attempt {after.number}"
    lines = [Text.assemble((title, "bold")), word_diff(before.draft, after.draft, plain=plain)]
    old, new = _statuses(before), _statuses(after)
    for rule in dict.fromkeys((*old, *new)):
        was, now = old.get(rule, "not decided"), new.get(rule, "not decided")
        if was != now:
            lines.append(Text(f"  {rule}: {was} -> {now}", style=dict(_STYLES).get(now, "")))
    return Text("\n").join(lines)


def summaries_text(summaries: Sequence[TraceSummary]) -> str:
    """Return a list of traces, one a line."""
    if not summaries:
        return "no such traces"
    header = ("ID", "BEGAN", "PROGRAM", "ARTIFACT", "ENDED", "ATTEMPTS", "CALLS")
    rows = [
        (
            summary.id,
            _moment(summary.started),
            summary.program,
            summary.artifact_id or _BASE,
            summary.stopped_by or "not finished",
            str(summary.attempts),
            str(summary.calls),
        )
        for summary in summaries
    ]
    return table([header, *rows])


def agreement_text(agreed: Agreement) -> str:
    """Return in a sentence how far new verdicts agree with old ones."""
    return (
        f"{agreed.drafts} drafts judged again: {agreed.same_verdict} verdicts agree, "
        f"{agreed.now_passed} now passed, {agreed.now_failed} now failed; "
        f"{agreed.same_finding} of {agreed.findings} findings agree."
    )


def _head(trace: Trace) -> Text:
    start = trace.start
    answered = f"artifact {trace.artifact_id}" if trace.artifact_id else "as its file stands"
    lines = [f"began {_moment(trace.started)}, seed {start.seed}"]
    if trace.resumed:
        lines.append(f"resumed {trace.resumed} times" if trace.resumed > 1 else "resumed once")
    if trace.redacted:
        lines.append("texts are redacted")
    roles = dict.fromkeys(call.role for call in trace.calls)
    lines += [f"{role}: {start.models.get(role, 'none')}" for role in roles]
    lines += [f"{name} = {value}" for name, value in start.inputs.items()]
    title = (f"{trace.program} {trace.id}, {answered}\n", "bold")
    return Text.assemble(title, "\n".join(lines), "\n")


def _attempt(attempt: Attempt, before: str | None, *, plain: bool) -> Text:
    title = (f"Attempt {attempt.number}", "bold")
    lines = [Text.assemble(title, f"  ({_spent(attempt)})")]
    lines += [Text(f"  told: {gap}") for gap in attempt.gaps]
    if before == attempt.draft:
        return Text("\n").join([*lines, Text("  the same draft again")])
    if before is not None and attempt.share_changed is not None:
        lines.append(Text(f"  {attempt.share_changed:.0%} of the text changed:"))
        lines.append(_indented(word_diff(before, attempt.draft, plain=plain), "  ~ "))
    spans = quote_spans(attempt.draft, _findings(attempt.verdict))
    lines.append(_indented(marked_quotes(attempt.draft, spans), "  | "))
    return Text("\n").join(lines)


def _judged(attempt: Attempt, broken: Sequence[Regression]) -> Iterator[Text]:
    verdict = attempt.verdict
    if verdict is None:
        yield Text("  not judged", style="yellow")
        return
    marked = {span.number for span in quote_spans(attempt.draft, verdict.findings)}
    for number, finding in enumerate(verdict.findings, start=1):
        yield _finding(finding, number if number in marked else None)
    if verdict.not_asked:
        yield Text(f"  not asked: {', '.join(verdict.not_asked)}")
    for regression in broken:
        yield Text(f"  broke {regression.id}, met in attempt {regression.met_in}", style="red")
    if verdict.failure is not None:
        yield Text(f"  {verdict.failure.message}", style="yellow")
    yield Text("  passed" if verdict.passed else "  not passed", style=_outcome_style(verdict))


def _finding(finding: Finding, number: int | None) -> Text:
    minor = "" if finding.must_pass else " (minor)"
    mark = "" if number is None else f" ({number})"
    said = finding.gap or finding.reason
    line = f"  {dict(_SIGNS)[finding.status]} {finding.id}{minor}{mark}"
    text = Text(line + (f": {said}" if said else ""), style=dict(_STYLES)[finding.status])
    if finding.quote and number is None:
        text.append(f'\n      "{finding.quote}"')
    return text


def _recheck_line(attempt: Attempt, recheck: Recheck) -> Text:
    by = recheck.checker or "code"
    outcome = "passed" if recheck.verdict.passed else "not passed"
    old = {finding.id: finding.status for finding in _findings(attempt.verdict)}
    other = [
        f"{finding.id} {finding.status}"
        for finding in recheck.verdict.findings
        if old.get(finding.id) != finding.status
    ]
    differs = f"; differs on {', '.join(other)}" if other else "; findings agree"
    return Text(
        f"  judged again {_moment(recheck.judged)} by {by}, {recheck.artifact_id or _BASE}: "
        f"{outcome}{differs}",
        style="cyan",
    )


def _end(trace: Trace) -> Text:
    if trace.answer is not None:
        style = {True: "bold green", False: "bold red", None: "bold"}[trace.answer.passed]
        return Text(ending(trace.answer), style=style)
    flight = [_in_flight(call) for call in trace.calls if call.outcome is None]
    lost = f"; {', '.join(flight)} in flight, counted as spent" if flight else ""
    return Text(
        f"Not finished: {spent_so_far(trace.usage)}{lost}. "
        f"Go on with: redraft run {trace.program} --resume {trace.id}",
        style="bold yellow",
    )


def _in_flight(call: StoredCall) -> str:
    return f"call {call.sequence} ({call.predictor})"


def _spent(attempt: Attempt) -> str:
    return f"{spent_so_far(attempt.usage)}, {attempt.seconds:.1f} s"


def _statuses(attempt: Attempt) -> dict[str, str]:
    return {finding.id: finding.status for finding in _findings(attempt.verdict)}


def _findings(verdict: Verdict | None) -> tuple[Finding, ...]:
    return () if verdict is None else verdict.findings


def _outcome_style(verdict: Verdict) -> str:
    return "green" if verdict.passed else "red"


def _indented(text: Text, margin: str) -> Text:
    lines = text.split("\n", allow_blank=True)
    return Text("\n").join(Text(margin) + line for line in lines)


def _moment(time: str) -> str:
    return time[:19].replace("T", " ") + " UTC"
