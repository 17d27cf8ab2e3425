"""What changes an answer: taken from a program, put back into one, and compared."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from redraft.artifact.record import Artifact, CompiledPredictor, Lineage, Rule, Search, normalised
from redraft.errors import DriftError, ProjectError
from redraft.lm.wire import request_digest
from redraft.program import Program, load_base
from redraft.project import source_fingerprint
from redraft.records import ProgramState
from redraft.signatures import CRITERIA

PROMPT_FORMAT = "redraft.prompt/1"


def build_artifact(
    program: Program, *, lineage: Lineage, search: Search, parent: str | None = None
) -> Artifact:
    """Return the artifact of a program that was tuned.

    Args:
        program: With its tuned state, its name and the models that it was tuned with.
        lineage: What it was made from.
        search: How it was found.
        parent: The artifact that was edited by hand to make it.

    Raises:
        ArtifactError: A demo or a setting holds something that JSON cannot.
        ProgramError: A request cannot be rendered with these demos.
    """
    return normalised(
        Artifact(
            program=program.name,
            predictors=_compiled(program),
            loop=program.loop,
            options=program.options,
            models={} if program.models is None else program.models.names(),
            prompt_format=PROMPT_FORMAT,
            rules=_rules(program),
            lineage=lineage,
            search=search,
            parent=parent,
        )
    )


def restore_program(root: Path, artifact: Artifact, *, allow_drift: bool = False) -> Program:
    """Return the program as the artifact has it; the program's file is read, never changed.

    Args:
        root: The project.
        artifact: What to put into its program.
        allow_drift: Whether differences are let pass; what no longer exists is then left out.

    Raises:
        DriftError: Something that changes an answer is not as it was when it was compiled.
    """
    base = load_base(root, artifact.program)
    program = _with_artifact(base, artifact)
    differences = tuple(_differences(root, program, artifact))
    if differences and not allow_drift:
        name, artifact_id = artifact.program, artifact.id
        raise DriftError(
            f"artifact {artifact_id} does not fit {name} as it stands; restore what changed, "
            f"compile again with `redraft compile {name}`, or accept it with --allow-drift "
            "(allow_drift=True):",
            artifact_id=artifact_id,
            differences=differences,
        )
    return program


def file_digests(root: Path, program: Program) -> dict[str, str]:
    """Return the SHA-256 (hex) of each file that a program declares.

    Raises:
        ProjectError: A file is not there.
    """
    folder = root / "programs" / program.name
    return {file: source_fingerprint(folder / file) for file in program.files}


def _with_artifact(base: Program, artifact: Artifact) -> Program:
    known = dict(base.with_loop(artifact.loop).named_predictors())
    predictors = {n: p.state for n, p in artifact.predictors.items() if n in known}
    state = ProgramState(predictors, artifact.loop, artifact.options)
    return base.with_state(state).named(artifact.program, artifact.id)


def _compiled(program: Program) -> dict[str, CompiledPredictor]:
    fields = _fields(program)
    return {
        name: CompiledPredictor(
            instructions=state.instructions,
            demos=state.demos,
            inputs=fields[name][0],
            outputs=fields[name][1],
            request_digest=_rendered_digest(program, name, fields[name][0]),
        )
        for name, state in program.state().predictors.items()
    }


def _fields(program: Program) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {
        name: (tuple(predictor.signature.input_fields), tuple(predictor.signature.output_fields))
        for name, predictor in program.named_predictors()
    }


def _rendered_digest(program: Program, predictor: str, inputs: tuple[str, ...]) -> str:
    # The criteria are left out so that the program fills in its own.
    placeholders = {name: f"<{name}>" for name in inputs if name != CRITERIA}
    return request_digest(program.render(predictor, placeholders))


def _rules(program: Program) -> tuple[Rule, ...]:
    checks = (Rule(c.id, "check", c.rule, c.must_pass) for c in program.checks)
    criteria = (Rule(c.id, "criterion", c.statement, c.must_pass) for c in program.criteria)
    return (*checks, *criteria)


def _differences(root: Path, program: Program, artifact: Artifact) -> Iterator[str]:
    fields = sorted(_field_differences(_fields(program), artifact.predictors))
    rules = list(_rule_differences(_rules(program), artifact.rules))
    yield from fields
    yield from rules
    yield from _file_differences(root, program, artifact.lineage.files)
    if artifact.prompt_format != PROMPT_FORMAT:
        yield f"prompts are written as {PROMPT_FORMAT!r}, and were as {artifact.prompt_format!r}"
    elif not fields and not rules:
        yield from _request_differences(program, artifact)


def _field_differences(
    found: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]],
    compiled: Mapping[str, CompiledPredictor],
) -> Iterator[str]:
    for name in found.keys() - compiled.keys():
        yield f"predictor {name!r} is new"
    for name in compiled.keys() - found.keys():
        yield f"predictor {name!r} is gone"
    for name in found.keys() & compiled.keys():
        then = (compiled[name].inputs, compiled[name].outputs)
        for what, was, now in zip(("inputs", "outputs"), then, found[name], strict=True):
            if was != now:
                yield f"predictor {name!r} has the {what} {_listed(now)}, and had {_listed(was)}"


def _rule_differences(found: tuple[Rule, ...], compiled: tuple[Rule, ...]) -> Iterator[str]:
    now, then = ({rule.id: rule for rule in rules} for rules in (found, compiled))
    for rule in found:
        if rule.id not in then:
            yield f"{rule.kind} {rule.id!r} is new"
        elif rule != then[rule.id]:
            yield f"{rule.kind} {rule.id!r} is {_shown(rule)}, and was {_shown(then[rule.id])}"
    for rule in compiled:
        if rule.id not in now:
            yield f"{rule.kind} {rule.id!r} is gone"


def _file_differences(root: Path, program: Program, compiled: Mapping[str, str]) -> Iterator[str]:
    for file in sorted({*program.files, *compiled}):
        shown = f"programs/{program.name}/{file}"
        if file not in compiled:
            yield f"file {shown} is declared now, and was not"
            continue
        if file not in program.files:
            yield f"file {shown} is not declared any more"
            continue
        try:
            digest = source_fingerprint(root / "programs" / program.name / file)
        except ProjectError as error:
            yield str(error)
            continue
        if digest != compiled[file]:
            yield f"file {shown} was changed"


def _request_differences(program: Program, artifact: Artifact) -> Iterator[str]:
    for name, compiled in artifact.predictors.items():
        if _rendered_digest(program, name, compiled.inputs) != compiled.request_digest:
            yield (
                f"predictor {name!r} sends another request than it did: a field's type or "
                "description, or the way requests are written, was changed"
            )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _shown(rule: Rule) -> str:
    return f"{rule.text!r} ({'must pass' if rule.must_pass else 'minor'}, {rule.kind})"
