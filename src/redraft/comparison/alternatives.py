"""What compiling and looping must beat: cheaper things that a sceptic would try first."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from redraft.errors import ConfigError
from redraft.program import Program
from redraft.records import Demo, Loop, PredictorState, Row

AlternativeName = Literal["base", "rules_pasted_in", "labelled_demos", "own_prompt", "redraws"]

DEMOS_BY_DEFAULT = 4
DRAFT = "draft"
REFERENCE_DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One thing to compare the compiled program with.

    Attributes:
        name: Key in the record, and name of its file of rows.
        title: What it is, as a person reads it.
        program: Answers, with the loop setting of the comparison; None where it cannot be made.
        left_out: Why it cannot be made, or need not be run; None where it is run.
    """

    name: AlternativeName
    title: str
    program: Program | None
    left_out: str | None = None


def alternatives_to(
    base: Program, compiled: Program, train: Sequence[Row], *, against: Path | None, seed: int
) -> tuple[Alternative, ...]:
    """Return the alternatives that need runs of their own; base is one of the four cells already.

    Args:
        base: The program as its file stands, with the loop setting of the comparison.
        compiled: The artifact, with the same loop setting.
        train: Rows whose references may become demos.
        against: A text file that holds a user's own instructions.
        seed: Draws the rows that become demos.

    Raises:
        ConfigError: `against` cannot be used.
        PrepareError: The program's `prepare` cannot read a row.
    """
    own = () if against is None else (own_prompt(base, against),)
    return (
        rules_pasted_in(base),
        labelled_demos(base, compiled, train, seed=seed),
        *own,
        redraws(compiled),
    )


def rules_pasted_in(base: Program) -> Alternative:
    """Return the base with the rules of its checks in the instructions.

    Criteria and measures are never pasted: answers would be written to the test.
    """
    title = "rules pasted into the instructions"
    texts = base.state().predictors.get(DRAFT)
    rules = [f"- {check.rule}" for check in base.checks]
    if texts is None or not rules:
        why = _MODULE if texts is None else "the program has no checks whose rules could be pasted"
        return Alternative("rules_pasted_in", title, None, why)
    instructions = "\n".join((texts.instructions, "", "Rules:", *rules))
    program = _with_draft(base, replace(texts, instructions=instructions))
    return Alternative("rules_pasted_in", title, program)


def labelled_demos(
    base: Program, compiled: Program, train: Sequence[Row], *, seed: int
) -> Alternative:
    """Return the base with as many labelled demos as the artifact has, or four."""
    texts = base.state().predictors.get(DRAFT)
    ours = compiled.state().predictors.get(DRAFT)
    size = DEMOS_BY_DEFAULT if ours is None or not ours.demos else len(ours.demos)
    title = f"{_counted(size)}, taken blindly"
    if texts is None:
        return Alternative("labelled_demos", title, None, _MODULE)
    labelled = [row for row in train if _labels(base, row) is not None]
    chosen = random.Random(seed).sample(labelled, len(labelled))[:size]
    if not chosen:
        why = "no row of train has a reference.draft"
        return Alternative("labelled_demos", title, None, why)
    if len(chosen) < size:
        title = f"{_counted(len(chosen))}, all there are"
    demos = tuple(_demo(base, row) for row in chosen)
    return Alternative("labelled_demos", title, _with_draft(base, replace(texts, demos=demos)))


def own_prompt(base: Program, path: Path) -> Alternative:
    """Return the base with the text of a file as instructions, and no demos.

    Raises:
        ConfigError: The file cannot be read, is empty, or fits no single predictor.
    """
    texts = base.state().predictors.get(DRAFT)
    if texts is None:
        raise ConfigError(f"cannot use {path} as instructions: {_MODULE}")
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}; give a text file in UTF-8") from error
    if not text:
        raise ConfigError(f"{path} is empty; write the instructions to compare with into it")
    program = _with_draft(base, PredictorState(instructions=text))
    return Alternative("own_prompt", f"the prompt in {path.name}", program)


def redraws(compiled: Program) -> Alternative:
    """Return the artifact drawing again without feedback, with the same cap of revisions."""
    title = "blind re-draws instead of feedback, same cap"
    loop = compiled.loop
    if loop.on_fail == "resample":
        why = "the loop draws again without feedback already, so it is this alternative itself"
        return Alternative("redraws", title, None, why)
    if not runs(loop):
        return Alternative("redraws", title, None, "the loop makes no revisions")
    return Alternative("redraws", title, compiled.with_loop(replace(loop, on_fail="resample")))


def runs(loop: Loop) -> bool:
    """Tell whether a loop can make a revision at all."""
    return loop.enabled and loop.max_revisions > 0


_MODULE = "the drafter is a module, so it is open which predictor would be told"


def _counted(demos: int) -> str:
    return "1 labelled demo" if demos == 1 else f"{demos} labelled demos"


def _with_draft(program: Program, texts: PredictorState) -> Program:
    state = program.state()
    return program.with_state(replace(state, predictors={**state.predictors, DRAFT: texts}))


def _labels(program: Program, row: Row) -> dict[str, object] | None:
    """Return the drafter's outputs as the row's reference gives them; None where one is missing."""
    names = {name: name for name in program.draft.signature.output_fields}
    names[program.draft_field] = REFERENCE_DRAFT
    given = {name: row.reference.get(label) for name, label in names.items()}
    return None if any(value is None for value in given.values()) else given


def _demo(program: Program, row: Row) -> Demo:
    facts = program.facts(row.inputs, row.id)
    inputs = {name: facts[name] for name in (*program.input_fields, *program.prepared)}
    return Demo({**inputs, **(_labels(program, row) or {})}, row_id=row.id)
