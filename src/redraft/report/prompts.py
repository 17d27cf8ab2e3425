"""PROMPTS.md: what an artifact will send, and how that differs from its opponent."""

import difflib
import re
from collections.abc import Iterator

from redraft.lm.wire import message_text, system_text
from redraft.program import Program
from redraft.records import PredictorState
from redraft.signatures import CRITERIA


def prompts_text(program: Program, opponent: Program) -> str:
    """Return each predictor's request as Markdown, with the difference from the opponent's.

    Args:
        program: What was compiled, named by its artifact.
        opponent: What it was measured against.
    """
    against = opponent.artifact_id or "the program as its file stands"
    lines = [
        f"# Prompts of {program.name} {program.artifact_id or ''}".rstrip(),
        "",
        f"Compared with {against}. Names in <> are filled in for each answer.",
        "",
        f"- Loop: {_loop_text(program)}",
        f"- Loop of the opponent: {_loop_text(opponent)}",
    ]
    if _pastes_rules(program):
        lines.append("- The rules of the program's checks are pasted into the instructions.")
    for name, state in program.state().predictors.items():
        lines += ["", *_predictor_lines(program, opponent, name, state)]
    return "\n".join(lines) + "\n"


def _predictor_lines(
    program: Program, opponent: Program, name: str, state: PredictorState
) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield f"{len(state.demos)} demos{_origins(state)}."
    yield ""
    request = _request_text(program, name)
    yield from _fenced(request)
    yield ""
    yield "### Difference from the opponent"
    yield ""
    if name not in opponent.state().predictors:
        yield f"The opponent has no {name}."
        return
    before = _request_text(opponent, name)
    difference = difflib.unified_diff(
        before.splitlines(), request.splitlines(), "opponent", "compiled", lineterm="", n=1
    )
    lines = list(difference)
    yield from (_fenced("\n".join(lines), "diff") if lines else ["None."])


def _request_text(program: Program, name: str) -> str:
    """Return the request with placeholders, each turn under its role."""
    predictor = dict(program.named_predictors())[name]
    # The program fills the criteria in by itself.
    fields = [field for field in predictor.signature.input_fields if field != CRITERIA]
    request = program.render(name, {field: f"<{field}>" for field in fields})
    system = system_text(request)
    turns = [("system", system)] if system else []
    turns += [(message.role, message_text(message)) for message in request.messages]
    return "\n\n".join(f"[{role}]\n{text}" for role, text in turns)


def _fenced(text: str, language: str = "text") -> Iterator[str]:
    """Yield the text in a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield text
    yield fence


def _origins(state: PredictorState) -> str:
    if not state.demos:
        return ""
    origins = (
        f"{demo.row_id or 'written by hand'}{f' by {demo.model}' if demo.model else ''}"
        for demo in state.demos
    )
    return f": {', '.join(origins)}"


def _loop_text(program: Program) -> str:
    loop = program.loop
    if not loop.enabled:
        return "off; the draft is returned unchecked"
    votes = f", by most of {loop.votes} votes" if loop.votes > 1 else ""
    if loop.max_revisions == 0:
        return f"check once{votes}, never try again"
    return (
        f"{loop.on_fail}, at most {loop.max_revisions} revisions{votes}, "
        f"returns the {loop.returned} draft where none passed"
    )


def _pastes_rules(program: Program) -> bool:
    """Tell whether every check's rule stands in the instructions of one drafting predictor."""
    rules = [check.rule for check in program.checks]
    drafting = (
        state.instructions
        for name, state in program.state().predictors.items()
        if name.partition(".")[0] == "draft"
    )
    return bool(rules) and any(all(rule in text for rule in rules) for text in drafting)
