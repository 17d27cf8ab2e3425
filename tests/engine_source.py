"""The engine's source as syntax trees, for the tests that read it."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "redraft"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def paths() -> Mapping[str, Path]:
    """Return the file of every module of the engine, by dotted name."""
    return {
        _dotted(path): path for path in sorted(SRC.rglob("*.py")) if "template" not in path.parts
    }


@cache
def modules() -> Mapping[str, ast.Module]:
    """Parse every module of the engine, by dotted name."""
    return {name: ast.parse(path.read_text("utf-8")) for name, path in paths().items()}


def _dotted(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the room of a module; the package root is a room of its own, named by ``."""
    return module.partition(".")[2].partition(".")[0]


def imports(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Yield module and name of every import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def engine_imports(name: str) -> set[str]:
    """Return the engine's modules that one module imports, their packages included."""
    found: set[str] = set()
    for module, attribute in imports(modules()[name]):
        for candidate in (module, f"{module}.{attribute}"):
            parts = candidate.split(".")
            found |= {".".join(parts[:n]) for n in range(2, len(parts) + 1)} & set(modules())
    return found


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, FunctionNode]]:
    """Yield every function and method with its qualified name, nested ones included."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        here = f"{prefix}.{node.name}" if named and prefix else (node.name if named else prefix)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield here, node
        yield from functions(node, here)


def all_functions() -> Iterator[tuple[str, FunctionNode]]:
    """Yield every function of the engine as `module:qualified.name`."""
    for module, tree in modules().items():
        for name, node in functions(tree):
            yield f"{module}:{name}", node
