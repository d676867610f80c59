"""requirements.txt: its pins fit the ranges, are complete, and fit what the package index says.

The build of PyTorch at hand may declare no Triton, so a set that installs here may not install
elsewhere. Hence the index is asked, with local wheels left out of the question.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.venv import FOR_A_GPU

ROOT = Path(__file__).resolve().parents[2]

# Of pip's settings, those that say how the index is reached, not what else to look at.
INDEX_SETTINGS = ("index-url", "cert", "client-cert", "proxy", "trusted-host", "timeout")
NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError"
    r"|Max retries exceeded|Network is unreachable|from versions: none"
)


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    found: dict[str, str] = {}
    for requirement in wanted:
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", f"{requirement} is not an exact pin"
        found[canonicalize_name(requirement.name)] = specifier.version
    assert len(found) == len(wanted), "a package is pinned twice"
    return found


def declared() -> list[Requirement]:
    """The packages of pyproject.toml, but for what a GPU, a server or one test needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"]]
    groups += [
        group
        for name, group in project["optional-dependencies"].items()
        if name not in ("gpu", "nvvm", "cluster", "slurm", "postgresql")
    ]
    return [Requirement(text) for group in groups for text in group]


def requires(name: str) -> list[str]:
    try:
        return importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:  # for another Python than this one
        return []


def index_environment() -> dict[str, str]:
    """The configured index alone: no local wheels, no second index."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CONSTRAINT")
    }
    for setting in INDEX_SETTINGS:
        variable = "PIP_" + setting.upper().replace("-", "_")
        asked = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", f"global.{setting}"],
            capture_output=True,
            text=True,
        )
        if variable not in kept and not asked.returncode:
            kept[variable] = asked.stdout.strip()
    return kept | {"PIP_CONFIG_FILE": os.devnull}


def resolve(tmp_path: Path, *arguments: str) -> tuple[dict[str, dict], str]:
    """What pip would install on a bare machine, by the index's metadata; nothing is downloaded."""
    report = tmp_path / "report.json"
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    answer = subprocess.run(
        [*pip, "--report", str(report), *arguments],
        env=index_environment(),
        capture_output=True,
        text=True,
    )
    if NO_NETWORK.search(answer.stderr):
        pytest.fail(
            "The package index cannot be reached, so the pins were not checked against it. "
            "Connect this machine, or leave this test out: -m 'not network'.",
            pytrace=False,
        )
    if answer.returncode:
        return {}, answer.stderr
    chosen = json.loads(report.read_text())["install"]
    return {canonicalize_name(c["metadata"]["name"]): c for c in chosen}, answer.stderr


def test_every_package_of_pyproject_is_pinned_inside_its_range() -> None:
    pinned = pins()
    for requirement in declared():
        version = pinned.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} stands in pyproject.toml and not in requirements.txt"
        assert requirement.specifier.contains(version), (
            f"requirements.txt pins {requirement.name} {version}; "
            f"pyproject.toml wants {requirement.specifier}"
        )


def test_the_pins_are_the_declared_packages_and_what_they_need_and_no_more() -> None:
    # As seen by the oldest Python, whichever runs the test.
    oldest = {
        "python_version": "3.11",
        "python_full_version": "3.11.7",
        "platform_system": "Linux",
        "sys_platform": "linux",
    }
    needed: set[str] = set()
    waiting = [(canonicalize_name(r.name), r.extras) for r in declared()]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, frozenset(extras)) in seen:
            continue
        seen.add((name, frozenset(extras)))
        needed.add(name)
        for text in requires(name):
            part = Requirement(text)
            if part.marker is None or any(
                part.marker.evaluate(oldest | {"extra": extra}) for extra in (extras or {""})
            ):
                waiting.append((canonicalize_name(part.name), part.extras))
    cuda = {name for name in needed if name.startswith(("nvidia-", "cuda-"))}  # torch pins them
    assert set(pins()) == needed - cuda


@pytest.mark.network
def test_the_package_index_resolves_the_pins_to_themselves(tmp_path: Path) -> None:
    chosen, errors = resolve(tmp_path, "-r", str(ROOT / "requirements.txt"))
    assert chosen, f"pip finds no set that fits requirements.txt:\n{errors}"
    versions = {name: choice["metadata"]["version"] for name, choice in chosen.items()}
    pinned = pins()
    assert {name: versions.get(name) for name in pinned} == pinned
    unpinned = set(versions) - set(pinned)
    assert all(name.startswith(("nvidia-", "cuda-")) for name in unpinned), unpinned


@pytest.mark.network
def test_the_target_for_a_gpu_takes_no_other_version_of_a_pin(tmp_path: Path) -> None:
    target = Requirement(FOR_A_GPU)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (ranged,) = map(Requirement, project["optional-dependencies"]["gpu"])
    (version,) = (pin.version for pin in target.specifier)
    assert ranged.name == target.name
    assert ranged.specifier.contains(version)
    chosen, errors = resolve(tmp_path, "-r", str(ROOT / "requirements.txt"), FOR_A_GPU)
    assert chosen, f"pip finds no set with {FOR_A_GPU}:\n{errors}"
    assert chosen["numba-cuda"]["metadata"]["version"] == version
    assert "nvidia-nvvm" in chosen


@pytest.mark.network
@pytest.mark.parametrize("python", ["3.11.2", "3.14.0"])  # Debian 12's, and the newest we take
def test_every_pin_is_there_for_the_oldest_and_the_newest_python(
    tmp_path: Path, python: str
) -> None:
    other = ["--python-version", python, "--only-binary", ":all:", "--target", str(tmp_path)]
    chosen, errors = resolve(tmp_path, *other, "--no-deps", "-r", str(ROOT / "requirements.txt"))
    assert chosen, f"not for Python {python}:\n{errors}"
    assert "yanked" not in errors


@pytest.mark.network
@pytest.mark.skipif(sys.platform != "linux", reason="torch names Triton on Linux only")
def test_a_triton_that_torch_refuses_on_the_index_is_refused(tmp_path: Path) -> None:
    torch = pins()["torch"]
    chosen, errors = resolve(tmp_path, f"torch=={torch}", "triton==3.6.0")
    assert not chosen
    assert "conflict" in errors
    assert "triton" in errors
