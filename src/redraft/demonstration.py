"""The demonstration: compile, answer and compare on fewer rows, then a control without a gain."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from redraft.artifact import load
from redraft.budget import Meter, RunCaps
from redraft.comparison import Comparison, compare
from redraft.compilation import Compilation
from redraft.compiler import compile_program
from redraft.errors import ProjectError
from redraft.evaluator import Evaluation, RowResult, resolve, row_record
from redraft.evaluator.rows import Progress as RowProgress
from redraft.lm import Models
from redraft.optimizers import Progress, SearchLimits
from redraft.program import Program
from redraft.project import source_path
from redraft.records import Answer, Usage
from redraft.session import AnswerRun
from redraft.statistics import Effect, GateVerdict, gate_verdict, look_level, paired_gain

PROGRAM = "product_blurb"

# Small enough for ten minutes on two cores; the gate's and the test's rows are not cut further,
# since fewer could not tell a gain of this size from chance.
COMPILE_CALLS = 900
# Of tokens and dollars, where they are capped; the rest is for the answers and the comparison.
COMPILE_SHARE = 0.6
TEST_ROWS = 60
LIMITS = SearchLimits(
    val_rows=40,
    gate_rows=60,
    train_rows=16,
    sizes=(0, 2, 4),
    sets_per_size=2,
    max_revisions=2,
    on_fail=("resample",),
)
CONTROLS = 200
# Less than any call costs: a cap that is used up lets nothing more through.
_SMALLEST_USD = 1e-12

_FOLDERS = ("programs", "metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the demonstration plays.

    Attributes:
        name: The program.
        root: A scratch copy of the project.
        models: What answers, with recorded replies.
        out: Folder that gets every number: JSON Lines of the rows, and the records.
        caps: Hard stops: calls of the compile and again of the comparison, tokens and dollars of
            everything that is still to come; None for those above.
    """

    name: str
    root: Path
    models: Models
    out: Path
    caps: RunCaps | None = None

    def after(self, usage: Usage) -> "Stage":
        """Return the stage with what is left of tokens and dollars; a step needs some of both."""
        caps = self.caps
        if caps is None:
            return self
        tokens, cost_usd = caps.max_tokens, caps.max_cost_usd
        if tokens is not None:
            tokens = max(1, tokens - usage.input_tokens - usage.output_tokens)
        if cost_usd is not None:
            cost_usd = max(_SMALLEST_USD, cost_usd - (usage.cost_usd or 0.0))
        return replace(self, caps=replace(caps, max_tokens=tokens, max_cost_usd=cost_usd))

    def shared(self, share: float) -> RunCaps:
        """Return the caps of a compile: its own on calls, and a share of tokens and dollars."""
        caps = self.caps or RunCaps()
        tokens, cost_usd = caps.max_tokens, caps.max_cost_usd
        return replace(
            caps,
            max_calls=COMPILE_CALLS if caps.max_calls is None else caps.max_calls,
            max_tokens=None if tokens is None else max(1, int(tokens * share)),
            max_cost_usd=None if cost_usd is None else cost_usd * share,
        )

    def write(self, file: str, record: Mapping[str, object]) -> None:
        """Write one record to `out`."""
        self.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record, ensure_ascii=False, indent=2)
        (self.out / file).write_text(f"{text}\n", "utf-8")

    def write_rows(self, file: str, evaluation: Evaluation) -> None:
        """Write one JSON object a row to `out`."""
        self.out.mkdir(parents=True, exist_ok=True)
        lines = (row_record(result, evaluation.split) for result in evaluation.results)
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (self.out / file).write_text(text, "utf-8")


@dataclass(frozen=True, slots=True)
class Control:
    """What the gate says of the same drafts under rubrics that know nothing of them.

    Attributes:
        effect: Paired gain under the first such rubric.
        verdict: The gate's.
        level: One-sided level of the gate.
        rubrics: How many such rubrics were tried.
        confirmed: Under how many of them the gate would have confirmed a gain.
        worse: Under how many it would have found what was compiled to be worse.
    """

    effect: Effect
    verdict: GateVerdict
    level: float
    rubrics: int
    confirmed: int
    worse: int


def require_program(root: Path, name: str) -> None:
    """Make sure that there is a program to demonstrate.

    Raises:
        ProjectError: The project has no such program.
    """
    try:
        source_path(root, "programs", name)
    except ProjectError as error:
        raise ProjectError(
            f"the demonstration needs the program {name!r}, which comes with the repository; "
            f"run scripts/demo in a clone of it, or name a program of your own: {error}"
        ) from error


def copy_project(root: Path, name: str, target: Path) -> Path:
    """Copy what one program needs into `target`, without anything that was compiled.

    Raises:
        ProjectError: The project has no such program.
    """
    require_program(root, name)
    shutil.copy(root / "pyproject.toml", target / "pyproject.toml")
    for folder in (*_FOLDERS, f"trainsets/{name}"):
        shutil.copytree(
            root / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    return target


def compile_small(stage: Stage, progress: Progress | None = None) -> Compilation:
    """Compile on fewer rows; the artifact is promoted in the scratch copy if it is confirmed."""
    compilation = compile_program(
        stage.name,
        optimizer="bootstrap",
        caps=stage.shared(COMPILE_SHARE),
        root=stage.root,
        models=stage.models,
        limits=LIMITS,
        progress=progress,
    )
    stage.write("compile.json", compilation.record())
    for file, evaluation in (("before", compilation.before), ("after", compilation.after)):
        if evaluation is not None:
            stage.write_rows(f"compile_{file}.jsonl", evaluation)
    return compilation


def answer_both(stage: Stage, compilation: Compilation) -> dict[str, Answer]:
    """Answer one row of `val` as the file stands, then as it was compiled."""
    base = load(stage.name, "base", root=stage.root, models=stage.models)
    programs = {"base": base}
    if compilation.artifact_id is not None:
        compiled = load(stage.name, compilation.artifact_id, root=stage.root, models=stage.models)
        programs[compilation.artifact_id] = compiled
    inputs = _request(stage, base)
    meter = Meter(stage.caps)
    answers = {
        name: program.answer_run(inputs, AnswerRun(meter=meter))
        for name, program in programs.items()
    }
    record = {name: asdict(answer) for name, answer in answers.items()}
    stage.write("answers.json", {"inputs": dict(inputs), **record})
    return answers


def compare_small(
    stage: Stage, compilation: Compilation, progress: RowProgress | None = None
) -> Comparison | None:
    """Compare base and artifact on fewer rows; None where the compile wrote no artifact."""
    if compilation.artifact_id is None:
        return None
    comparison = compare(
        stage.name,
        root=stage.root,
        models=stage.models,
        artifact=compilation.artifact_id,
        limit=TEST_ROWS,
        caps=stage.caps,
        progress=progress,
        out=stage.out / "compare",
    )
    stage.write("compare.json", comparison.record())
    return comparison


def control_of(stage: Stage, compilation: Compilation) -> Control | None:
    """Score the compile's recorded drafts by a hash of row id and draft, and ask the gate.

    Such a rubric holds no gain that a prompt could have won, so a gate that confirms one is wrong.
    None where the compile compared nothing.
    """
    before, after = compilation.before, compilation.after
    if before is None or after is None:
        return None
    level = look_level(1)
    effects = [_control_effect(before, after, salt) for salt in range(CONTROLS)]
    verdicts = [gate_verdict(effect, level) for effect in effects]
    control = Control(
        effect=effects[0],
        verdict=verdicts[0],
        level=level,
        rubrics=CONTROLS,
        confirmed=verdicts.count("confirmed"),
        worse=verdicts.count("worse"),
    )
    stage.write("control.json", asdict(control))
    return control


def hash_score(row_id: str, draft: str, salt: int = 0) -> float:
    """Return a number in [0, 1) that depends on row id and draft and means nothing."""
    digest = hashlib.sha256(f"{salt}\n{row_id}\n{draft}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def _request(stage: Stage, program: Program) -> Mapping[str, object]:
    """Return the inputs of the row that is answered."""
    return resolve(program, root=stage.root).rows("val", 1)[0].inputs


def _control_effect(before: Evaluation, after: Evaluation, salt: int) -> Effect:
    def scores(results: Sequence[RowResult]) -> list[float]:
        return [hash_score(r.row_id, r.answer.draft or "", salt) for r in results]

    groups = [result.group for result in before.results]
    return paired_gain(scores(before.results), scores(after.results), groups=groups)
