"""What an artifact was made from, compared with what is there now."""

from collections.abc import Iterator

from redraft.artifact.record import Artifact, Lineage
from redraft.errors import DriftError


def verify_lineage(artifact: Artifact, found: Lineage, *, allow_drift: bool = False) -> None:
    """Make sure that an artifact is measured with what it was compiled with.

    Args:
        artifact: The artifact.
        found: What is there now; parts that are None are not compared.
        allow_drift: Whether differences are let pass.

    Raises:
        DriftError: The program's code, the rubric's or the rows are not those of the compile.
    """
    differences = lineage_differences(artifact, found)
    if differences and not allow_drift:
        raise DriftError(
            f"artifact {artifact.id} was compiled with something else than what is there now, so "
            "its numbers would not compare; restore what changed, compile again with "
            f"`redraft compile {artifact.program}`, or accept it with --allow-drift "
            "(allow_drift=True):",
            artifact_id=artifact.id,
            differences=differences,
        )


def lineage_differences(artifact: Artifact, found: Lineage) -> tuple[str, ...]:
    """Return one readable line for each part that differs."""
    return tuple(_differences(artifact.program, artifact.lineage, found))


def _differences(name: str, then: Lineage, now: Lineage) -> Iterator[str]:
    for what, was, found in (
        (f"programs/{name}.py or what it imports", then.program, now.program),
        (f"metrics/{name}.py or what it imports", then.rubric, now.rubric),
        (f"the rows of trainsets/{name}/", then.rows, now.rows),
    ):
        if found is not None and was is not None and found != was:
            yield f"{what} changed since it was compiled"
    if then.rows == now.rows:
        yield from _moved_rows(then, now)


def _moved_rows(then: Lineage, now: Lineage) -> Iterator[str]:
    """Yield a line for each split that lost rows; the digest of the rows says nothing of that."""
    for split, ids in then.splits.items():
        moved = sorted(set(ids) - set(now.splits.get(split, ids)))
        if moved:
            count = "1 row is" if len(moved) == 1 else f"{len(moved)} rows are"
            yield f"{count} no longer in {split!r}, such as {moved[0]!r}"
