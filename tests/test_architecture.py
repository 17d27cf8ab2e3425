"""Who may import whom: the layout of the engine, read from its imports."""

import ast
import subprocess
import sys
from fnmatch import fnmatch

from engine_source import engine_imports, imports, modules, room_of

# A room may use the rooms named here and no others; every arrow goes up.
ROOMS: dict[str, str] = {
    "errors": "",
    "records": "errors",
    "definitions": "",
    "project": "errors definitions",
    "trainset": "errors records project",
    "checks": "records",
    "budget": "errors records",
    "lm": "errors records budget",
    "verdict": "errors records",
    "replies": "errors records",
    "adapter": "errors records verdict replies",
    "signatures": "errors records adapter",
    "votes": "records verdict",
    "loop": "records budget",
    "calls": "records replies adapter loop",
    "states": "records",
    "events": "records loop calls",
    "session": ("errors records budget verdict replies adapter signatures votes loop calls events"),
    "facts": "errors adapter session",
    "caller": "errors records budget lm replies adapter loop calls events",
    "answering": "records budget loop events session caller",
    "program": (
        "errors records project budget lm verdict adapter signatures loop states events "
        "session facts caller answering"
    ),
    "estimate": "records lm signatures program",
    "traces": (
        "errors records project budget verdict replies adapter loop calls events session program"
    ),
    "statistics": "errors",
    "looks": "errors records project statistics",
    "artifact": "errors records project lm signatures events program",
    "rubric": "errors records project",
    "evaluator": (
        "errors records project trainset budget lm loop session program statistics looks "
        "artifact rubric"
    ),
    "comparison": (
        "errors records project budget program statistics looks artifact rubric evaluator"
    ),
    "compilation": "records statistics looks evaluator",
    "report": "records lm signatures program rubric evaluator comparison compilation",
    "optimizers": "errors records budget signatures program rubric evaluator comparison",
    "compiler": (
        "errors records project trainset budget lm program statistics looks artifact "
        "rubric evaluator compilation report optimizers"
    ),
    "demonstration": (
        "errors records project budget lm session program statistics artifact evaluator "
        "comparison compilation optimizers compiler"
    ),
    "cli": (
        "errors records project budget lm session program estimate traces artifact evaluator "
        "comparison compilation report compiler demonstration"
    ),
    "testing": "errors records lm program rubric",
}

ANSWER_PATH = (
    "checks lm verdict replies adapter signatures votes loop calls states events session facts "
    "caller answering program traces artifact"
)
OFFLINE_HALF = (
    "trainset statistics looks rubric evaluator comparison compilation report optimizers compiler "
    "demonstration"
)

# Where a library that is not Python's own may be imported.
LIBRARIES: dict[str, str] = {
    "anthropic": "redraft.lm.*",
    "httpx2": "redraft.lm.*",
    "dspy": (
        "redraft.lm.* redraft.replies redraft.adapter redraft.caller redraft.signatures "
        "redraft.states redraft.program redraft.optimizers.* redraft.testing.* redraft.cli.prompt"
    ),
    "pydantic": "redraft.replies redraft.adapter redraft.facts",
    "jsonschema": "redraft.lm.schema redraft.testing.contract",
    "optuna": "redraft.optimizers.*",
    "gepa": "redraft.optimizers.*",
    "xllamacpp": "redraft.lm.*",
    "sqlite3": "redraft.traces.* redraft.lm.cache redraft.optimizers.table",
    "typer": "redraft.cli.*",
    "rich": "redraft.cli.*",
    "numpy": "redraft.statistics.*",
    "scipy": "redraft.statistics.*",
    "statsmodels": "redraft.statistics.*",
    "pandas": "redraft.report.frames",
    "pyarrow": "redraft.trainset.lines",
}

LATE_IMPORTS = frozenset(
    {"redraft", "redraft.cli.main", "redraft.optimizers", "redraft.lm", "redraft.project"}
)


def arrows() -> dict[str, set[str]]:
    """Return which rooms each room uses."""
    table: dict[str, set[str]] = {}
    for name in modules():
        used = {room_of(other) for other in engine_imports(name)}
        table.setdefault(room_of(name), set()).update(used - {room_of(name)})
    return table


def reachable(start: list[str]) -> set[str]:
    """Return every module that importing `start` can import, late imports included."""
    todo, reached = list(start), set[str]()
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo.extend(engine_imports(name))
    return reached


def test_rooms_use_exactly_what_the_table_says() -> None:
    """A new arrow is added to the table in the same change, and an unused one is taken out."""
    actual = {room: used for room, used in arrows().items() if room}

    assert actual == {room: set(used.split()) for room, used in ROOMS.items()}


def test_arrows_go_up() -> None:
    """A room uses only rooms that stand above it in the table."""
    place = {room: n for n, room in enumerate(ROOMS)}

    down = [(room, to) for room in ROOMS for to in ROOMS[room].split() if place[to] >= place[room]]

    assert down == []


def test_answer_path_cannot_reach_the_offline_half() -> None:
    """Nothing that answers imports, even indirectly, what measures or tunes."""
    start = [name for name in modules() if room_of(name) in ANSWER_PATH.split()]

    reached = {room_of(name) for name in reachable(start)}

    assert reached & set(OFFLINE_HALF.split()) == set()


def test_no_room_imports_the_package_root() -> None:
    """`import redraft` is for users; a room names the room that it uses."""
    wrong = [
        name
        for name, tree in modules().items()
        for module, attribute in imports(tree)
        if module == "redraft" and f"redraft.{attribute}" not in modules()
    ]

    assert wrong == []


def test_no_room_imports_anothers_private_names() -> None:
    """What starts with an underscore stays in its room."""
    wrong = [
        f"{name}: {module}.{attribute}"
        for name, tree in modules().items()
        for module, attribute in imports(tree)
        if module.startswith("redraft.")
        and (attribute or "").startswith("_")
        and room_of(module) != room_of(name)
    ]

    assert wrong == []


def test_libraries_are_imported_only_where_the_table_says() -> None:
    """Each library has its rooms; one that is missing from the table has none."""
    own = sys.stdlib_module_names - {"sqlite3"} | {"redraft"}

    wrong = [
        f"{name}: {module}"
        for name, tree in modules().items()
        for module, _ in imports(tree)
        if (library := module.partition(".")[0]) not in own
        and not any(
            fnmatch(name, place) or name == place.removesuffix(".*")
            for place in LIBRARIES.get(library, "").split()
        )
    ]

    assert wrong == []


def late(tree: ast.Module) -> list[int]:
    """Return the lines of imports that do not stand at the top of the file."""
    top: set[ast.AST] = set()
    for node in tree.body:
        guarded = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        top.update(node.body if guarded else [node])
    return [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import | ast.ImportFrom) and node not in top)
        or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
        )
    ]


def test_five_files_may_import_late() -> None:
    """Everywhere else imports stand at the top, so that what a file needs can be seen there."""
    wrong = {name: late(tree) for name, tree in modules().items() if name not in LATE_IMPORTS}

    assert {name: lines for name, lines in wrong.items() if lines} == {}


def test_imports_are_absolute() -> None:
    """A line names the same room wherever it is moved."""
    relative = [
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert relative == []


def loaded_after(code: str) -> set[str]:
    """Return the top-level modules that a fresh process has loaded after running `code`."""
    script = f"{code}\nimport sys; print(*(name.partition('.')[0] for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_package_root_loads_nothing_until_a_name_is_used() -> None:
    """`import redraft` costs nothing."""
    assert loaded_after("import redraft") & {"dspy", "pandas", "scipy", "anthropic"} == set()


def test_loading_an_artifact_needs_no_science_libraries() -> None:
    """Answering works from the plain installation."""
    loaded = loaded_after("import redraft; redraft.load")

    assert loaded & {"pandas", "scipy", "optuna", "statsmodels", "pyarrow"} == set()


_GUARD = """
import sys
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise RuntimeError(f"{event} while importing: {args}")
sys.addaudithook(refuse)
"""


def test_importing_the_engine_does_no_work() -> None:
    """No module opens the network or configures DSPy when it is imported."""
    everything = "\n".join(f"import {name}" for name in modules())

    loaded_after(f"{_GUARD}\n{everything}\nimport dspy\nassert dspy.settings.lm is None")
