"""Set-up: every failure in a sentence with its remedy, and the next run goes on from there."""

import fcntl
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import venv

TOOLS = Path(__file__).resolve().parents[1]
SHELL = shutil.which("sh") or "/bin/sh"


def write_wheel(folder: Path, version: str) -> None:
    """A package `tiny` of one line, so that set-up has something to install."""
    about = f"tiny-{version}.dist-info"
    files = {
        "tiny.py": f"version = {version!r}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(folder / f"tiny-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in [*files.items(), (f"{about}/RECORD", record)]:
            wheel.writestr(name, text)


class Checkout:
    """The set-up's files in a folder of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(
            TOOLS, root / "tools", ignore=shutil.ignore_patterns("tests", "__pycache__")
        )
        self.require("1.0")

    def require(self, version: str) -> None:
        (self.root / "requirements.txt").write_text(f"tiny=={version}\n")

    def command(self, **settings: str) -> tuple[list[str], dict[str, str]]:
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("PIP_")
        }
        own = {"PYTHON": sys.executable, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}
        return [SHELL, str(self.root / "tools" / "venv.sh")], inherited | own | settings

    def set_up(self, **settings: str) -> tuple[int, str]:
        command, environment = self.command(**settings)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return done.returncode, done.stderr

    def installed(self) -> str:
        python = self.root / ".venv" / "bin" / "python"
        program = "import tiny, sys; print(tiny.version, sys.path[-1])"
        asked = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True)
        return asked.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    (tmp_path / "a folder").mkdir()
    return Checkout(tmp_path / "a folder")


@pytest.fixture
def wheels(tmp_path: Path) -> dict[str, str]:
    """Settings that let pip find `tiny` 1.0 and 2.0, and nothing else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, "1.0")
    write_wheel(folder, "2.0")
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def mounted(folder: Path, options: str) -> bool:
    """Mounts a small disk of its own; False where the machine does not let us."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        return not subprocess.run(command, capture_output=True).returncode
    except OSError:
        return False


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    if not mounted(folder, "size=20m"):
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_set_up_goes_on_after_each_interruption(checkout: Checkout, wheels: dict[str, str]) -> None:
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    code, said = checkout.set_up(**unreachable)
    assert code == 1
    assert "Set-up stopped: no network" in said
    assert "Then run the same command again: it goes on from here." in said
    made = (checkout.root / ".venv" / "pyvenv.cfg").stat().st_mtime_ns

    # The next run keeps the environment and adds the packages; the one after has nothing to do.
    assert checkout.set_up(**wheels)[0] == 0
    assert (checkout.root / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == made
    assert checkout.installed() == f"1.0 {checkout.root}"
    assert checkout.set_up(**unreachable) == (0, "")

    # Other pins: pip runs again. A package cut short while it was unpacked is installed again.
    checkout.require("2.0")
    packages = next((checkout.root / ".venv" / "lib").glob("python3*/site-packages"))
    (packages / "tiny-1.0.dist-info" / "RECORD").unlink()
    (packages / "tiny.py").unlink()
    with (checkout.root / "requirements.txt").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as another set-up would
        command, environment = checkout.command(**wheels)
        waiting = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        assert waiting.stderr is not None
        assert "Waiting for it" in waiting.stderr.readline()
    said = waiting.communicate(timeout=60)[1]
    assert waiting.returncode == 0, said
    assert checkout.installed().startswith("2.0 ")
    assert (checkout.root / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == made


def test_a_moved_checkout_is_noticed_and_its_environment_made_anew(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    old = checkout.root
    make = [sys.executable, "-m", "venv", "--without-pip", str(old / ".venv")]
    subprocess.run(make, check=True)
    venv.SetUp(old)._remove_unusable()
    assert (old / ".venv").exists()
    new = old.rename(old.with_name("elsewhere"))
    venv.SetUp(new)._remove_unusable()
    assert not (new / ".venv").exists()
    assert f"this folder has moved here from {old}" in capsys.readouterr().err


def test_a_python_that_is_gone_is_noticed(checkout: Checkout) -> None:
    set_up = venv.SetUp(checkout.root)
    (checkout.root / ".venv" / "bin").mkdir(parents=True)
    set_up.python.symlink_to("/nowhere/python3.11")
    set_up.stamp.write_text(set_up.expected_stamp())
    set_up._remove_unusable()
    assert not set_up.venv.exists()


def test_a_full_disk_is_told_beforehand_with_the_gigabytes(disk: Path) -> None:
    code, said = Checkout(disk).set_up()
    assert code == 1
    assert "GB of free disk space" in said
    assert "0.0 GB are free" in said
    assert not (disk / ".venv").exists()


def test_a_folder_that_cannot_be_written_is_told(disk: Path) -> None:
    checkout = Checkout(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    code, said = checkout.set_up()
    assert code == 1
    assert f"{disk} cannot be written (Read-only file system)" in said
    assert "clone it to one where you may write" in said


@pytest.fixture
def path_of_pythons(tmp_path: Path):
    """Makes a PATH that holds Pythons of our choice alone."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def add(name: str, *, version: tuple[int, int, int] | None, bare: bool = False) -> str:
        """A Python that says it is `version`; None for a shim that does not run."""
        script = folder / name
        if version is None:
            script.write_text("#!/bin/sh\nexit 127\n")
        else:
            pretend = f"import sys; sys.version_info = {(*version, 'final', 0)}"
            if bare:
                pretend += "; sys.modules['ensurepip'] = None"
            script.write_text(
                "#!/bin/sh\n"
                f'case "$*" in *tools/venv.py) echo "chosen: {name}" >&2; exit 0;; esac\n'
                'for program in "$@"; do :; done\n'
                f'exec "{sys.executable}" -c "{pretend}\n$program"\n'
            )
        script.chmod(0o755)
        return str(folder)

    return add


def test_an_old_python_is_refused_with_what_to_install(checkout: Checkout, path_of_pythons) -> None:
    path = path_of_pythons("python3", version=(3, 9, 2))
    code, said = checkout.set_up(PATH=path, PYTHON="")
    assert code == 1
    assert "it needs Python 3.11 to 3.14, but python3 is Python 3.9.2" in said
    assert "make venv PYTHON=" in said


def test_the_environments_own_python_does_not_make_it_anew(
    checkout: Checkout, path_of_pythons
) -> None:
    path = path_of_pythons("python3", version=(3, 12, 1))
    own = checkout.root / ".venv/bin"
    own.mkdir(parents=True)
    shutil.copy(f"{path}/python3", own / "python3")
    path_of_pythons("python3.12", version=(3, 12, 1))
    Path(path, "python3").unlink()
    code, said = checkout.set_up(PATH=f"{own}:{path}", PYTHON="")
    assert (code, said.strip()) == (0, "chosen: python3.12")


def test_no_python_at_all(checkout: Checkout, tmp_path: Path) -> None:
    code, said = checkout.set_up(PATH=str(tmp_path / "nothing"), PYTHON="")
    assert code == 1
    assert "no Python is on PATH at all" in said


def test_a_newer_python_beside_an_old_one_is_taken(checkout: Checkout, path_of_pythons) -> None:
    path_of_pythons("python3", version=(3, 9, 2))
    path_of_pythons("python3.13", version=None)
    path = path_of_pythons("python3.12", version=(3, 12, 1))
    assert checkout.set_up(PATH=path, PYTHON="") == (0, "chosen: python3.12\n")


def test_a_python_without_venv_names_the_package_to_install(
    checkout: Checkout, path_of_pythons
) -> None:
    path = path_of_pythons("python3", version=(3, 11, 2), bare=True)
    code, said = checkout.set_up(PATH=path, PYTHON="")
    assert code == 1
    assert "sudo apt install python3.11-venv" in said


def test_the_python_that_was_asked_for_is_the_one_that_is_refused(
    checkout: Checkout, path_of_pythons
) -> None:
    path = path_of_pythons("python3.10", version=(3, 10, 0))
    code, said = checkout.set_up(PYTHON=f"{path}/python3.10")
    assert code == 1
    assert "python3.10 is Python 3.10.0. Name one that fits" in said


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left", "full"),
        (
            "Retrying ... NewConnectionError(...)\nERROR: No matching distribution found for x",
            "no n",
        ),
        (
            "ERROR: Could not find a version that satisfies x==1 (from versions: none)",
            "no network?",
        ),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "PIP_CERT"),
        ("ERROR: [Errno 13] Permission denied: '/x'", "chown"),
        ("ERROR: No matching distribution found for numba==0.68.1", "no numba==0.68.1 for Python"),
        ("ERROR: ResolutionImpossible: for help visit https://pip.pypa.io", "PIP_CONSTRAINT"),
        ("Collecting x\nERROR: something new\nmore", "it stopped with: ERROR: something new"),
    ],
)
def test_what_pip_met_is_explained(output: str, sentence: str) -> None:
    assert sentence in venv.explain(output)


class Rehearsal(venv.SetUp):
    """Records what would be installed; what is in `refused` cannot be had, for that cause."""

    def __init__(self, root: Path, refused: dict[str, str]) -> None:
        super().__init__(root)
        self.refused = refused
        self.asked: list[str] = []

    def _installed(self, package: str) -> str | None:
        return None

    def _logged(self, arguments: list[str]) -> None:
        tool, last = arguments[1], arguments[-1]
        self.asked.append(f"{tool} {last}")
        if f"{tool} {last}" in self.refused:
            raise venv.PipError("refused", self.refused[f"{tool} {last}"])


@pytest.mark.parametrize(
    ("refused", "asked"),
    [
        ({}, ["pip torch==2.13.0+cpu"]),
        (
            {"pip torch==2.13.0+cpu": "missing"},
            ["pip torch==2.13.0+cpu", "pip uv==0.8.0", "uv torch==2.13.0"],
        ),
        (
            {"pip torch==2.13.0+cpu": "conflict"},
            ["pip torch==2.13.0+cpu", "pip uv==0.8.0", "uv torch==2.13.0"],
        ),
        (
            {"pip torch==2.13.0+cpu": "missing", "uv torch==2.13.0": "network"},
            ["pip torch==2.13.0+cpu", "pip uv==0.8.0", "uv torch==2.13.0"],
        ),
    ],
)
def test_without_a_gpu_the_cpu_build_of_torch_is_sought_first(
    tmp_path: Path, monkeypatch, refused: dict[str, str], asked: list[str]
) -> None:
    monkeypatch.setattr(venv, "NEEDED_GB_CUDA", 0.0)
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\nuv==0.8.0\n")
    rehearsal = Rehearsal(tmp_path, refused)
    rehearsal._install_torch_for_cpu("2.13.0")
    assert rehearsal.asked == asked


def test_no_network_ends_the_search_for_the_cpu_build(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\nuv==0.8.0\n")
    rehearsal = Rehearsal(tmp_path, {"pip torch==2.13.0+cpu": "network"})
    with pytest.raises(venv.PipError):
        rehearsal._install_torch_for_cpu("2.13.0")
    assert rehearsal.asked == ["pip torch==2.13.0+cpu"]


@pytest.mark.parametrize("gpu", [False, True])
def test_a_machine_with_a_gpu_gets_numbas_target_for_it_too(
    tmp_path: Path, monkeypatch, gpu: bool
) -> None:
    (tmp_path / "requirements.txt").write_text("numba==0.68.1\n")
    (tmp_path / ".venv").mkdir()
    rehearsal = Rehearsal(tmp_path, {})
    without = rehearsal.expected_stamp()
    monkeypatch.setattr(venv, "has_nvidia_gpu", lambda: gpu)
    monkeypatch.setattr(rehearsal, "_forget_half_installed", lambda: None)
    rehearsal._install()
    last = venv.FOR_A_GPU if gpu else str(rehearsal.requirements)
    assert rehearsal.asked == [f"pip {last}"]
    assert (rehearsal.expected_stamp() != without) is gpu
