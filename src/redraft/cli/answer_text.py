"""An answer as a person reads it: every attempt with its draft, verdict and diff."""

from rich.console import Console
from rich.text import Text

from redraft.cli.progress import spent_so_far
from redraft.records import Answer, Attempt, Finding, Verdict

_SIGNS = {"met": "+", "unmet": "x", "cannot_assess": "?"}
_STYLES = {"met": "green", "unmet": "red", "cannot_assess": "yellow"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def write_answer(console: Console, answer: Answer) -> None:
    """Write the attempts of an answer, then how it ended and what it spent."""
    for attempt in answer.attempts:
        _write_attempt(console, attempt)
    style = {True: "bold green", False: "bold red", None: "bold"}[answer.passed]
    console.print(Text(ending(answer), style=style))


def ending(answer: Answer) -> str:
    """Return in a sentence or two how an answer ended."""
    parts = [f"Ended: {answer.stopped_by}, {spent_so_far(answer.usage)}."]
    if answer.returned is not None and len(answer.attempts) > 1:
        parts.append(f"The draft of attempt {answer.returned} is returned.")
    if answer.unmet:
        parts.append(f"Not met: {', '.join(answer.unmet)}.")
    if answer.failure is not None:
        parts.append(answer.failure.message)
    return " ".join(parts)


def _write_attempt(console: Console, attempt: Attempt) -> None:
    console.print(Text(f"Attempt {attempt.number}", style="bold"))
    console.print(_indented(attempt.draft))
    if attempt.share_changed is not None:
        console.print(Text(f"  {attempt.share_changed:.0%} of the text changed"))
    for line in attempt.diff.splitlines():
        console.print(Text(f"  {line}", style=_DIFF_STYLES.get(line[:1], "")))
    if attempt.verdict is not None:
        _write_verdict(console, attempt.verdict)
    console.print()


def _write_verdict(console: Console, verdict: Verdict) -> None:
    outcome = "passed" if verdict.passed else "not passed"
    console.print(Text(f"  {outcome}", style="green" if verdict.passed else "red"))
    for finding in verdict.findings:
        console.print(Text(_finding_line(finding), style=_STYLES[finding.status]))
    if verdict.not_asked:
        console.print(Text(f"  not asked: {', '.join(verdict.not_asked)}"))
    if verdict.failure is not None:
        console.print(Text(f"  {verdict.failure.message}", style="yellow"))


def _finding_line(finding: Finding) -> str:
    said = finding.gap or (finding.reason if finding.status == "cannot_assess" else "")
    minor = "" if finding.must_pass else " (minor)"
    return f"  {_SIGNS[finding.status]} {finding.id}{minor}" + (f": {said}" if said else "")


def _indented(text: str) -> Text:
    return Text("\n".join(f"  {line}" for line in text.splitlines()))
