"""The dev container: its file is read as an editor reads it, its steps run as far as they can."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / ".devcontainer" / "devcontainer.json"
STEPS = ("onCreateCommand", "postCreateCommand")


def settings():
    return json.loads(FILE.read_text())


def test_its_steps_are_scripts_of_the_checkout():
    for step in STEPS:
        shell, script = settings()[step].split()
        assert shell == "sh"
        assert (ROOT / script).is_file()
        subprocess.run(["sh", "-n", str(ROOT / script)], check=True)


def test_its_python_is_one_that_set_up_takes():
    found = re.search(r"python:3\.(\d+)-", settings()["image"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert 11 <= int(found[1]) <= 14


@pytest.mark.parametrize(("user", "told"), [("0", True), ("1000", False)])
def test_jupyter_is_told_that_it_runs_as_root_where_it_does(tmp_path, user, told):
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    done = subprocess.run(
        ["make", "-n", "lab"],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "jupyter lab" in done.stdout
    assert ("--allow-root" in done.stdout) is told


@pytest.mark.slow
def test_the_second_step_tries_a_triton_kernel():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    if not (ROOT / ".venv/bin/python").exists():
        pytest.skip("this checkout is not set up by `make venv`")
    done = subprocess.run(
        settings()[STEPS[1]].split(), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "runs here, metered" in done.stdout


@pytest.mark.slow
@pytest.mark.network
def test_all_steps_run_in_a_fresh_copy(tmp_path):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()  # as a host's own would be: of no use in the container
    strays = ("VIRTUAL_ENV", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in strays}
    for step in STEPS:
        done = subprocess.run(
            settings()[step].split(),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
        )
        assert done.returncode == 0, f"{step}: {done.stderr[-2000:]}"
    assert "runs here, metered" in done.stdout
