"""The floors of the course: each imports only what lies below it, imports in functions counted."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

COURSE = Path(__file__).parents[1]
#: From the ground up. Figures quote what a GPU counted.
FLOORS = (
    "plain",
    "spec",
    "exercises",
    "engine",
    "words",
    "check",
    "gpu",
    "figures",
    "notebook",
    "run",
    "__main__",
)
LEVEL = {name: level for level, name in enumerate(FLOORS)}

#: Imports inside functions that close a circle within a floor, with the reason for each.
BACK = {
    # a notebook asks a verdict for its panel
    ("course.words.verdict", "course.words.panel"),
}


def modules() -> dict[str, Path]:
    """Every module of the course but its tests, by its name."""
    files = (path.relative_to(COURSE.parent) for path in COURSE.rglob("*.py"))
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
        for path in files
        if path.parts[1] != "tests"
    }


def imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """(line, module of the course or of the grader) of each import, wherever it stands."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse((COURSE.parent / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            whole = [f"{base}.{alias.name}" for alias in node.names]
            found = [one if one in known else base for one in whole]
        else:
            continue
        for one in found:
            if one.split(".")[0] in ("course", "autograder"):
                yield node.lineno, one


def only_for_types(path: Path) -> set[int]:
    """Lines that only a type checker reads."""
    tree = ast.parse((COURSE.parent / path).read_text(encoding="utf-8"))
    blocks = [node.body for node in ast.walk(tree) if isinstance(node, ast.If)
              and ast.unparse(node.test) == "TYPE_CHECKING"]  # fmt: skip
    return {node.lineno for body in blocks for node in body}


def complaint(name: str, line: int, other: str, path: Path) -> str | None:
    """What is wrong with one import, or None."""
    floor, below = (f"{one}.".split(".")[1] for one in (name, other))
    where = f"{path}:{line} imports {other}"
    if other.split(".")[0] == "autograder":
        return f"{where}: the course knows nothing of its grader."
    if floor not in LEVEL:
        return (
            None
            if not floor
            else f"{path} stands on no floor: move it to one of {', '.join(FLOORS)}."
        )
    if below not in LEVEL or LEVEL[below] > LEVEL[floor]:
        return (
            f"{where}: {floor} lies below {below or 'course/__init__.py'}. Move what is needed "
            f"down, or hand it in from above."
        )
    return None


def test_every_module_imports_only_floors_below_its_own() -> None:
    known = modules()
    edges = [(n, line, other, p) for n, p in known.items() for line, other in imported(n, p, known)]
    assert len(edges) > 300, "the test has lost sight of the imports"
    wrong = [said for edge in edges if (said := complaint(*edge)) is not None]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other_in_a_circle_but_those_that_say_why() -> None:
    known = modules()
    graph = {}
    for name, path in known.items():
        typing = only_for_types(path)
        edges = imported(name, path, known)
        graph[name] = {other for line, other in edges if line not in typing} - {name}
    closing = {(name, other) for name, other in BACK if other in graph[name]}
    assert closing == BACK, f"no longer imported, take it off the list: {BACK - closing}"
    for name, other in BACK:
        graph[name].discard(other)
    try:
        tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        pytest.fail("these import each other: " + " <- ".join(error.args[1]))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("course.spec.formula", "def f():\n    from course.check import check", "spec lies below"),
        ("course.engine.faults", "if False:\n    import course.words.panel", "engine lies below"),
        ("course.engine.faults", "from ..words import panel", "engine lies below words"),
        ("course.gpu.counters", "import course.figures.access", "gpu lies below figures"),
        ("course.words.panel", "from course import KernelFault", "below course/__init__.py"),
        ("course.check.check", "import autograder.judge.judge", "nothing of its grader"),
        ("course.notebook.predict", "from course.check import check", None),
        ("course.engine.runner", "from . import job", None),
    ],
)
def test_an_import_that_climbs_is_named(monkeypatch, tmp_path, name, text, said) -> None:
    known = modules()
    file = tmp_path / "module.py"
    file.write_text(text)
    monkeypatch.setattr("course.tests.test_floors.COURSE", tmp_path / "course")
    ((line, other),) = imported(name, Path("module.py"), known)
    found = complaint(name, line, other, known[name])
    assert (found is None) if said is None else (found is not None and said in found)
