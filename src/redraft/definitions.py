"""What a file of a project defines: the names it assigns, and what is wrong with the one needed."""

import ast
from collections.abc import Mapping
from types import ModuleType


def assigned_lines(tree: ast.Module) -> dict[str, list[int]]:
    """Return, for each name that the file assigns at its outermost level, the lines."""
    lines: dict[str, list[int]] = {}
    for statement in tree.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                lines.setdefault(target.id, []).append(statement.lineno)
    return lines


def find_fault(
    module: ModuleType, lines: Mapping[str, list[int]], *, attribute: str, kind: type
) -> str | None:
    """Return what is wrong with `attribute`, beginning after the file's name; None if nothing."""
    of_kind = {name: value for name, value in vars(module).items() if isinstance(value, kind)}
    assigned = lines.get(attribute, [])
    if len(assigned) > 1:
        numbers = " and ".join(str(line) for line in assigned)
        return f":{assigned[-1]}: {attribute} is assigned on lines {numbers}; keep one"
    if len({id(value) for value in of_kind.values()}) > 1:
        names = ", ".join(f"{n} (line {lines[n][0]})" if n in lines else n for n in of_kind)
        return (
            f" holds several of type {kind.__name__}: {names}; keep {attribute} alone in its file"
        )
    if attribute in of_kind:
        return None
    at = f":{assigned[0]}" if assigned else ""
    if hasattr(module, attribute):
        found = type(getattr(module, attribute)).__name__
        return f"{at}: {attribute} is of type {found}; it must be a {kind.__name__}"
    if of_kind:
        other = next(iter(of_kind))
        return f" defines no {attribute}; rename {other} to {attribute}"
    return f" defines no {attribute}; add a line '{attribute} = {kind.__name__}(...)'"
