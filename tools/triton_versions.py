"""`make triton-versions`: the Triton half of the course on every Triton that it names.

For each version an environment is made in .build/triton: this checkout's own, with that Triton
laid over it (and an older NumPy, where the version wants one). There the canary's counts are
looked at, the engine's tests run, and every Triton lesson is checked against its witnesses, in the
names that the version has. What came of each step is written to docs/triton_versions.json as soon
as it is known, in the place of what stood there of that step; CONTRIBUTING.md quotes it.
`make clean` removes the environments.

    python tools/triton_versions.py [VERSION ...] [--only STEP ...] [--workers N] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "triton_versions.json"
QUOTED_IN = ROOT / "CONTRIBUTING.md"
#: Version: what else it needs. triton 3.6 breaks `range(0, K, BLOCK)` on NumPy 2.4.
OTHERS = {"3.6.0": ("numpy==2.1.3",), "3.8.0": (), "3.9.0": ()}
#: The first and the last lesson file that is checked: of 12 to 14 the record has too little yet.
LESSONS = ("06", "11")
#: A sum over three axes, of which 3.8 and 3.9 make no `tl.dot` in TF32.
_SUMMED = {
    "flash_forward products_summed_by_hand -> WRONG_ANSWER": "flash_forward "
    "products_summed_by_hand -> PASS",
}
#: What lessons call by another name in a version, as what is experimental in Triton changes its
#: names, and witnesses on which its compiler has another word: 3.9 has no block pointers, and takes
#: a cache modifier beside an eviction policy.
RENAMED = {
    "3.8.0": _SUMMED,
    "3.9.0": {
        **_SUMMED,
        "tma.async_copy_global_to_shared": "tma.async_load",
        "tma.async_copy_shared_to_global": "tma.async_store",
        "sizes_named_where_they_are_tested -> PASS": "sizes_named_where_they_are_tested -> "
        "DOES_NOT_COMPILE",
        "triton_add two_words_on_the_cache -> DOES_NOT_COMPILE": "triton_add "
        "two_words_on_the_cache -> PASS",
    },
}
#: What has these names, and what `autograder check` reads beside it.
SOURCES = ("solutions", "notebooks", "autograder", "course", "nbgrader_config.py")
TESTS = "course/tests/engine/triton"
MOST_FAILURES = 20
#: What is counted.
TESTS_PASSED = "tests passed"
OF_A_LESSON = ("exercises", "wrong kernels", "right ones", "notebook runs")


@dataclass(frozen=True)
class Step:
    """Something to run in an environment. The command writes what it found to `found`."""

    name: str
    command: tuple[str, ...]
    found: str = ""


@dataclass(frozen=True)
class Result:
    """What came of a step.

    Attributes:
        figures: what was counted: tests, or exercises, witnesses and notebooks.
        failures: a sentence each, the first ones; empty where all is well.
    """

    step: str
    seconds: int
    figures: dict[str, int]
    failures: list[str]

    @property
    def line(self) -> str:
        """Its row of the table, without the version."""
        counted = ", ".join(f"{count} {name}" for name, count in self.figures.items())
        word = "FAILED" if self.failures else "ok"
        return f"{self.step:20} {self.seconds:6} s  {word:6} {counted}".rstrip()


def pinned_version() -> str:
    """The Triton of requirements.txt."""
    found = re.search(r"^triton==([^\s;#]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("requirements.txt pins no triton: which one is the course tested with?")
    return found[1]


def versions() -> list[str]:
    """Every version to try, oldest first."""
    return sorted({*OTHERS, pinned_version()}, key=lambda v: [int(n) for n in v.split(".")])


def folder_of(version: str, root: Path = ROOT) -> Path | None:
    """Where a version lies that is not the checkout's own. A sandbox lets in `site-packages`."""
    if version == pinned_version():
        return None
    return root / ".build" / "triton" / version / "site-packages"


def install(version: str) -> None:
    """Makes the environment, where it is not there yet."""
    folder = folder_of(version)
    if folder is None or any(folder.glob(f"triton-{version}.dist-info/RECORD")):
        return
    packages = [f"triton=={version}", *OTHERS[version]]
    print(f"... installing {' and '.join(packages)} into {folder.relative_to(ROOT)}", flush=True)
    options = ["--disable-pip-version-check", "--quiet", "--no-deps", "--upgrade"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder)]
    if subprocess.run([*command, *packages], cwd=ROOT).returncode:
        raise SystemExit(
            f"{' and '.join(packages)} cannot be installed: what pip said stands above. Mend that, "
            "and run the same command again."
        )


def environment(version: str) -> dict[str, str]:
    """The variables under which this Python imports that version."""
    folder = folder_of(version)
    paths = [str(ROOT)] if folder is None else [str(folder), str(ROOT)]
    cache = ROOT / ".build" / "triton" / version / "cache"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "TRITON_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def root_of(version: str, root: Path = ROOT) -> Path:
    """Where the lessons lie that a version is tried with."""
    return root / ".build" / "triton" / version / "lessons" if version in RENAMED else root


def renamed(version: str, root: Path = ROOT) -> list[str]:
    """Copies the lessons in the names that a version has; the stems of those that it changed."""
    to = root_of(version, root)
    if to == root:
        return []
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for name in SOURCES:
        (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, to / name)
    changed = []
    for path in (*to.glob("solutions/*.py"), *to.glob("autograder/proof/**/*.cells")):
        before = text = path.read_text(encoding="utf-8")
        for old, new in RENAMED[version].items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        if text != before and path.suffix == ".py":
            changed.append(path.stem[3:])
    return changed


def rename(version: str) -> None:
    """Makes the lessons of a version, and their notebooks anew, where it has other names."""
    if stems := renamed(version):
        build = ("-m", "autograder", "build", f"--root={root_of(version)}")
        subprocess.run((sys.executable, *build, *stems), cwd=ROOT, check=True)


def lessons(root: Path = ROOT) -> list[str]:
    """Stems of the Triton lessons that are there."""
    first, last = LESSONS
    files = sorted((root / "solutions").glob("[0-9][0-9]_*.py"))
    return [file.stem[3:] for file in files if first <= file.stem[:2] <= last]


def steps(version: str, found: str = os.devnull, workers: int | None = None) -> list[Step]:
    """What runs for a version. What a step finds goes to the file `found`."""
    probe = (
        f"import triton; assert triton.__version__ == {version!r}, triton.__version__; "
        "from course.engine.triton.canary import require_right_counts; require_right_counts()"
    )
    spread = ("-n", str(workers or "auto"), "--maxprocesses", "8", "--dist", "loadfile")
    pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={found}", *spread, TESTS)
    several = () if workers is None else (f"--workers={workers}",)
    check = ("-m", "autograder", "check", f"--out={found}", f"--root={root_of(version)}", *several)
    return [
        Step("canary", (sys.executable, "-c", probe)),
        Step("tests", (sys.executable, *pytest), found),
        *(Step(stem, (sys.executable, *check, stem), found) for stem in lessons()),
    ]


def run(step: Step, version: str) -> Result:
    """Runs a step: all it says goes to the terminal."""
    begun = time.monotonic()
    status = subprocess.run(step.command, cwd=ROOT, env=environment(version)).returncode
    seconds = round(time.monotonic() - begun)
    figures: dict[str, int] = {}
    failures: list[str] = []
    if step.found and Path(step.found).exists():
        try:
            text = Path(step.found).read_text(encoding="utf-8")
            figures, failures = of_tests(text) if step.name == "tests" else of_lesson(text)
        except (OSError, ValueError, KeyError, TypeError, ElementTree.ParseError) as error:
            failures = [f"what it found cannot be read: {error}"]
    elif step.found:
        failures = [f"it found nothing, and ended with status {status}"]
    if status and not failures:
        failures = [f"it ended with status {status}"]
    return Result(step.name, seconds, figures, failures[:MOST_FAILURES])


def of_tests(text: str) -> tuple[dict[str, int], list[str]]:
    """(figures, failures) of pytest's report."""
    cases = list(ElementTree.fromstring(text).iter("testcase"))
    if not cases:
        return {}, ["no test was found"]

    def having(*tags: str) -> list[ElementTree.Element]:
        return [case for case in cases if any(case.find(tag) is not None for tag in tags)]

    bad, skipped = having("failure", "error"), having("skipped")
    figures = {TESTS_PASSED: len(cases) - len(bad) - len(skipped), "skipped": len(skipped)}
    return figures, [f"{case.get('classname')}: {case.get('name')} failed" for case in bad]


def of_lesson(text: str) -> tuple[dict[str, int], list[str]]:
    """(figures, failures) of `autograder check --out`."""
    found = json.loads(text)
    exercises = found["exercises"]
    wrong, right = (sum(one[name] for one in exercises) for name in ("wrong", "honest"))
    counts = (len(exercises), wrong, right, len(found["notebooks"]))
    figures = dict(zip(OF_A_LESSON, counts, strict=True))
    return figures, found["failures"] if exercises else ["no exercise was found"]


# ---------------------------------------------------------------- the record


def provenance(version: str) -> dict[str, str]:
    """When, of what and with what a step ran."""
    asked = (sys.executable, "-c", "import numpy; print(numpy.__version__)")
    said = subprocess.run(asked, cwd=ROOT, env=environment(version), capture_output=True, text=True)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "python": platform.python_version(),
        "numpy": said.stdout.strip(),
    }


def commit() -> str:
    """The checkout's commit, with a `+` where files that count have changed since."""
    git = ("git", "-C", str(ROOT))
    try:
        head = subprocess.run((*git, "rev-parse", "--short=10", "HEAD"), capture_output=True)
        paths = ("course", "autograder", "solutions", "tools")
        changed = subprocess.run((*git, "status", "--porcelain", *paths), capture_output=True)
    except OSError:
        return "unknown"
    if head.returncode or changed.returncode:
        return "unknown"
    return head.stdout.decode().strip() + ("+" if changed.stdout.strip() else "")


def read_record(path: Path) -> dict[str, Any]:
    """What stands in the record; an empty one where there is none."""
    if not path.exists():
        return {"command": "make triton-versions", "versions": {}}
    try:
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        kept["versions"].items()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(
            f"{path} is no record of this command ({error}). Remove it, or name another file with "
            "--out."
        ) from None
    return kept


def kept_with(
    record: Mapping[str, Any], version: str, result: Result, about: Mapping[str, str]
) -> dict[str, Any]:
    """The record with one step's result in the place of what stood there of it."""
    entry = {**{k: v for k, v in asdict(result).items() if k != "step"}, **about}
    of_version = {**record["versions"].get(version, {}), result.step: entry}
    names = [step.name for step in steps(version)]
    ordered = {name: of_version[name] for name in names if name in of_version}
    found = {**record["versions"], version: ordered}
    return {**record, "versions": {v: found[v] for v in versions() if v in found}}


def summary(record: Mapping[str, Any]) -> str:
    """A row for each version of the record, as CONTRIBUTING.md quotes it."""
    heads = ["Triton", "NumPy", "engine's tests", "lessons", *OF_A_LESSON, "", "run on"]
    rows = [heads, ["---"] * len(heads)]
    for version, kept in record["versions"].items():
        stems = [stem for stem in lessons() if stem in kept]
        sums = [sum(kept[stem]["figures"].get(name, 0) for stem in stems) for name in OF_A_LESSON]
        tests = kept.get("tests", {}).get("figures", {}).get(TESTS_PASSED, "not run")
        failed = [step for step, entry in kept.items() if entry["failures"]]
        complete = list(kept) == [step.name for step in steps(version)]
        word = "all as they must be" if complete else "so far as they must be"
        dates = sorted({entry["date"] for entry in kept.values()})
        rows.append(
            [
                version,
                ", ".join(sorted({entry["numpy"] for entry in kept.values()})),
                str(tests),
                f"{len(stems)} of {len(lessons())}",
                *map(str, sums),
                f"failed: {', '.join(failed)}" if failed else word,
                " to ".join(dict.fromkeys([dates[0], dates[-1]])),
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def requoted(text: str, record: Mapping[str, Any]) -> str:
    """A text that quotes the summary, with this record's in the place of the old one."""
    rows = summary(record)
    head = re.escape(rows.partition("\n")[0])
    return re.sub(rf"^{head}\n(?:\|.*\n)*", lambda _: f"{rows}\n", text, flags=re.MULTILINE)


def table(results: Iterable[tuple[str, Result]]) -> str:
    """A line for each step, its failures below it."""
    lines = []
    for version, result in results:
        lines.append(f"{version:8} {result.line}")
        lines += [f"         ✗ {failure}" for failure in result.failures]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Runs everything, keeps a record, prints a table, and returns 1 where something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [step.name for step in steps(pinned_version())]
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="all of them unless told")
    parser.add_argument("--only", nargs="+", metavar="STEP", choices=names, default=names,
                        help=f"of {', '.join(names)}")  # fmt: skip
    parser.add_argument("--workers", type=int, help="processes of a step (default: one a core)")
    parser.add_argument("--out", type=Path, default=RECORD, help="the record (default: in docs/)")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.versions) - set(versions()))
    if unknown:
        parser.error(f"no such version here: {', '.join(unknown)}; there are {versions()}")
    if not options.out.parent.is_dir():
        parser.error(f"there is no folder {options.out.parent} for the record")
    record = read_record(options.out)
    results: list[tuple[str, Result]] = []
    stopped = False
    try:
        for version in options.versions or versions():
            install(version)
            rename(version)
            with tempfile.TemporaryDirectory(prefix="triton-") as scratch:
                for step in steps(version, f"{scratch}/found", options.workers):
                    if step.name not in options.only:
                        continue
                    print(f"\n=== Triton {version}: {step.name}", flush=True)
                    Path(scratch, "found").unlink(missing_ok=True)
                    results.append((version, run(step, version)))
                    record = kept_with(record, *results[-1], provenance(version))
                    options.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    except KeyboardInterrupt:
        stopped = True
    if options.out == RECORD:
        QUOTED_IN.write_text(requoted(QUOTED_IN.read_text(encoding="utf-8"), record), "utf-8")
    failed = sum(bool(result.failures) for _, result in results)
    print(f"\n{table(results)}\n\n{summary(record)}\n")
    end = f"{failed} of {len(results)} steps failed" if failed else f"{len(results)} steps, all ok"
    print(f"{end}{', then stopped' if stopped else ''}. The record: {options.out}")
    return 130 if stopped else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
