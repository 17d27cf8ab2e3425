"""The rules of STYLE.md that a program can check, read from the engine's source."""

import ast
from collections.abc import Iterator

import pytest
from engine_source import FunctionNode, all_functions, modules, paths, room_of

MODULE_LINES = 400
FUNCTION_LINES = 50
NESTING = 3
PARAMETERS = 6
POSITIONAL = 2

# The flags of a command are its parameters; a program is declared in one call.
MANY_PARAMETERS = frozenset({"redraft.program:Program.__init__"})

# Where a user's check, measure or `prepare` is called, and where nothing may leave as a traceback.
BLIND_EXCEPT = frozenset(
    {
        "redraft.cli.main",
        "redraft.facts",
        "redraft.rubric",
        "redraft.traces.redaction",
        "redraft.verdict",
    }
)

LAZY_PACKAGES = frozenset({"redraft", "redraft.lm", "redraft.optimizers"})


def is_command(name: str) -> bool:
    """Return whether a function is the entry of a command."""
    return name.startswith("redraft.cli.") and name.endswith(":command")


def body_lines(node: FunctionNode) -> int:
    """Return the lines of a function without its docstring and decorators."""
    first = node.body[0]
    doc = ast.get_docstring(node, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if doc else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def depth(node: ast.AST) -> int:
    """Return how deep blocks are nested in a node; functions inside it count for themselves."""
    deepest = 0
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        elif_branch = field == "orelse" and isinstance(node, ast.If) and len(children) == 1
        for child in children:
            if not isinstance(child, ast.AST) or isinstance(
                child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            ):
                continue
            flat = elif_branch and isinstance(child, ast.If)
            own = 0 if flat or not isinstance(child, _BLOCKS) else 1
            deepest = max(deepest, own + depth(child))
    return deepest


def test_modules_are_short() -> None:
    """A module is one noun and ends before 400 lines."""
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in paths().items()}

    assert {name: n for name, n in lines.items() if n > MODULE_LINES} == {}


def test_functions_are_short() -> None:
    """A function ends before 50 lines, its docstring not counted."""
    lines = {name: body_lines(node) for name, node in all_functions() if not is_command(name)}

    assert {name: n for name, n in lines.items() if n > FUNCTION_LINES} == {}


def test_blocks_are_not_nested_deeply() -> None:
    """Nesting stops at three levels."""
    levels = {name: depth(node) for name, node in all_functions()}

    assert {name: n for name, n in levels.items() if n > NESTING} == {}


def parameters(node: FunctionNode) -> tuple[int, int]:
    """Return how many parameters a function has, and how many may be given by position."""
    positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    positional = [name for name in positional if name not in ("self", "cls")]
    return len(positional) + len(node.args.kwonlyargs), len(positional)


def test_functions_take_few_parameters() -> None:
    """Six parameters at most; options that travel together become a record."""
    counts = {
        name: parameters(node)[0]
        for name, node in all_functions()
        if not is_command(name) and name not in MANY_PARAMETERS
    }

    assert {name: n for name, n in counts.items() if n > PARAMETERS} == {}


def test_everything_public_has_a_docstring() -> None:
    """Modules, public classes and public functions say what they are for."""
    assert list(undocumented()) == []


def undocumented() -> Iterator[str]:
    """Yield what is public and has no docstring; methods of a Protocol and overloads included."""
    for name, tree in modules().items():
        if ast.get_docstring(tree) is None:
            yield name
        for node in tree.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not node.name.startswith("_") and ast.get_docstring(node) is None:
                yield f"{name}:{node.name}"


def test_no_stubs() -> None:
    """Only what works is there."""
    stubs = [
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]

    assert stubs == []


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX"])
def test_no_notes_to_self(word: str) -> None:
    """What is missing is an issue, not a comment."""
    assert [name for name, path in paths().items() if word in path.read_text("utf-8")] == []


def test_blind_except_only_where_user_code_is_called() -> None:
    """Everywhere else an exception that was not expected is a bug, and shows."""
    found = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
    }

    assert found == BLIND_EXCEPT


def test_init_files_only_name_what_is_public() -> None:
    """An `__init__.py` holds a docstring, imports and `__all__`; three look names up lazily."""
    packages = {n: t for n, t in modules().items() if paths()[n].name == "__init__.py"}

    wrong = {name: extra for name, tree in packages.items() if (extra := list(works(name, tree)))}

    assert wrong == {}


def works(name: str, tree: ast.Module) -> Iterator[str]:
    """Yield the statements of an `__init__.py` that do more than name."""
    for node in tree.body:
        text = ast.unparse(node).partition("\n")[0]
        naming = isinstance(node, ast.Import | ast.ImportFrom) or text.startswith("__all__")
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not naming and not docstring and name not in LAZY_PACKAGES:
            yield text


CHANGES = frozenset({"append", "extend", "add", "update", "pop", "setdefault", "clear", "remove"})


def test_no_module_level_state() -> None:
    """What stands at module level is never changed; state is passed."""
    assert sorted(changed_state()) == []


def changed_state() -> Iterator[str]:
    """Yield where code says `global`, or changes a table that stands at module level."""
    for name, tree in modules().items():
        tables = {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                yield f"{name}:{node.lineno} global"
            elif ast.unparse(changed(node)) in tables:
                yield f"{name}:{node.lineno} {ast.unparse(node)}"


def changed(node: ast.AST) -> ast.AST:
    """Return what a node changes in place; an empty name where it changes nothing."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in CHANGES else ast.Name("")
    return ast.Name("")


def test_errors_have_a_type_of_their_own() -> None:
    """An error that a user can cause comes from the tree in `errors.py`."""
    raised = [
        f"{name}:{node.lineno}"
        for name, tree in modules().items()
        if room_of(name) != "testing"
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        and node.exc is not None
        and ast.unparse(node.exc).partition("(")[0] in ("Exception", "RuntimeError")
    ]

    assert raised == []
