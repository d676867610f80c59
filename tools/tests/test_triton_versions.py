"""The environments of `make triton-versions`: the right Triton in each, and all lessons tried."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("triton_versions", ROOT / "tools/triton_versions.py")
tool = importlib.util.module_from_spec(_spec)
sys.modules["triton_versions"] = tool
_spec.loader.exec_module(tool)


def test_the_ends_of_the_range_and_the_pinned_version_are_tried():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [declared] = [r for r in map(Requirement, project["dependencies"]) if r.name == "triton"]
    assert all(declared.specifier.contains(version) for version in tool.versions())
    assert tool.pinned_version() in tool.versions()
    assert tool.versions()[0].startswith("3.6.")
    assert tool.versions()[-1].startswith("3.9.")
    assert not declared.specifier.contains("3.10.0"), "3.9 is no longer the last: try that too"


def test_the_pinned_version_is_the_checkouts_own():
    assert tool.folder_of(tool.pinned_version()) is None
    assert tool.environment(tool.pinned_version())["PYTHONPATH"] == str(ROOT)


def test_another_version_comes_before_the_checkouts_own():
    first, second = tool.environment("3.9.0")["PYTHONPATH"].split(os.pathsep)
    assert first.endswith("/.build/triton/3.9.0/site-packages")
    assert second == str(ROOT)


def test_every_triton_lesson_is_checked(tmp_path):
    for name in ("05_roofline", "06_hello", "11_backward", "12_speed", "90_primer"):
        (tmp_path / "solutions").mkdir(exist_ok=True)
        (tmp_path / "solutions" / f"{name}.py").touch()
    assert tool.lessons(tmp_path) == ["hello", "backward"]
    names = [step.name for step in tool.steps("3.9.0", only_tests=False)]
    assert names == ["import", "tests", *tool.lessons()]


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.6.0", "3.9.0"])
def test_an_environment_has_its_triton_and_passes_the_gates_tests(version):
    tool.install(version)
    [probe, *_] = tool.steps(version, only_tests=True)
    assert subprocess.run(probe.command, env=tool.environment(version), cwd=ROOT).returncode == 0
    command = [*tool.steps(version, only_tests=True)[1].command[:-1], f"{tool.TESTS}/test_gate.py"]
    done = subprocess.run(command, env=tool.environment(version), cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout[-2000:]
