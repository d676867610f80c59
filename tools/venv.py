"""Sets up .venv, once: called by tools/venv.sh, which finds a Python that will do.

Every step may be interrupted; the next run goes on from there, because packages that are
installed stay installed and pip keeps what it has downloaded. `.venv/set-up.done` says that
set-up came to its end, for which requirements.txt and in which folder.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Measured: .venv takes 2.4 GB with PyTorch's CPU build and the download under 1 GB; with the
# CUDA libraries the download is 3 GB, which unpack to about twice that.
NEEDED_GB_CPU = 4.0
NEEDED_GB_CUDA = 12.0

#: Numba's CUDA target for a machine's own GPU. The one inside Numba is not kept up: it finds no
#: compiler among what pip installs, and does not compile `min` and `max`.
FOR_A_GPU = "numba-cuda[cu13]==0.30.4"

AGAIN = "Then run the same command again: it goes on from here."

# By name: what pip writes when it meets it, and the sentence. The first that fits is told, since
# a broken line ends in "No matching distribution" as well.
TROUBLES = {
    "disk": (
        r"No space left on device|Disk quota exceeded|\[Errno (28|122)\]",
        "the disk is full. Free a few GB.",
    ),
    "certificate": (
        r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|SSLError",
        "the package index's certificate was refused. Check the machine's clock; behind a proxy "
        "that signs for itself, name its certificate: export PIP_CERT=/path/to/certificate.pem.",
    ),
    "network": (
        r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Read timed out"
        r"|connection broken|ProxyError|Max retries exceeded|Network is unreachable"
        r"|IncompleteRead|ConnectionResetError|Temporary failure in name resolution",
        "no network: pip could not reach its package index. Connect this machine, or name an "
        "index that it can reach (PIP_INDEX_URL, PIP_PROXY).",
    ),
    "permission": (
        r"Permission denied|\[Errno 13\]",
        "a file could not be written. Make this folder yours (chown), or clone it elsewhere.",
    ),
    "nothing": (
        r"\(from versions: none\)",
        "pip found no {package} at all: it could not reach its package index (no network?), or the "
        "index has none for Python {python} on this kind of machine. Check the connection.",
    ),
    "missing": (
        r"No matching distribution found for",
        "the package index has no {package} for Python {python} on this machine. Try another "
        "Python from 3.11 to 3.14: make venv PYTHON=/path/to/python3.12.",
    ),
    "conflict": (
        r"ResolutionImpossible",
        "what requirements.txt pins and what pip is told elsewhere exclude each other. Look for a "
        "constraint: `pip config list`, PIP_CONSTRAINT.",
    ),
}


class SetUpError(Exception):
    """Set-up cannot go on; the message says why, and what to do."""


class PipError(SetUpError):
    """pip stopped; `cause` is a key of `TROUBLES`, or None."""

    def __init__(self, message: str, cause: str | None) -> None:
        super().__init__(message)
        self.cause = cause


class SetUp:
    """One checkout and its .venv."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.python = self.venv / "bin" / "python"
        self.log = self.venv / "set-up.log"
        self.stamp = self.venv / "set-up.done"
        self.requirements = root / "requirements.txt"

    def expected_stamp(self) -> str:
        wanted = [self.requirements.read_text(), *for_this_gpu()]
        digest = hashlib.sha256("".join(wanted).encode()).hexdigest()
        return f"{digest}\n{self.root}\n"

    def ready(self) -> bool:
        """Whether set-up has come to its end, here and for this requirements.txt."""
        try:
            return self.stamp.read_text() == self.expected_stamp()
        except OSError:
            return False

    def run(self) -> None:
        """Brings .venv to its end state, from whatever state it is in.

        Raises:
            SetUpError: in a sentence with the remedy.
        """
        with file_errors(self.root), self._alone():
            if self.ready() and self._interpreter_runs():
                return
            self._require_writable()
            self._remove_unusable()
            self._require_space(self._needed_gb())
            self._make_venv()
            self.stamp.unlink(missing_ok=True)
            self._install()
            self._put_checkout_on_path()
            self.stamp.write_text(self.expected_stamp())
            say("Set-up is done.")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds other set-ups of this checkout back: two pips in one folder break it."""
        try:
            import fcntl
        except ImportError:  # not on Windows, where nothing else starts a second one
            yield
            return
        with self.requirements.open() as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("Another set-up of this folder is running. Waiting for it.")
                fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def _interpreter_runs(self) -> bool:
        """Whether .venv's Python starts, and is one that set-up would choose."""
        probe = "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))"
        try:
            return not subprocess.run(
                [self.python, "-I", "-c", probe], capture_output=True
            ).returncode
        except OSError:
            return False

    def _remove_unusable(self) -> None:
        """A moved checkout, or a Python that is gone: .venv holds absolute paths, so build anew."""
        if not self.venv.exists() and not self.venv.is_symlink():
            return
        made_for = made_for_folder(self.venv)
        if made_for is not None and made_for != self.venv:
            reason = f"this folder has moved here from {made_for.parent}"
        elif self.python.is_symlink() and not self._interpreter_runs():
            reason = "the Python it was made with is gone, or is older than 3.11"
        else:
            return
        if self.venv.is_symlink():
            raise SetUpError(
                f"{self.venv} is a link to another folder, and unusable: {reason}. "
                f"Remove the link. {AGAIN}"
            )
        say(f"Building .venv again: {reason}.")
        shutil.rmtree(self.venv)

    def _require_writable(self) -> None:
        try:
            tempfile.TemporaryFile(dir=self.root).close()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.root)) from error

    def _needed_gb(self) -> float:
        needed = NEEDED_GB_CUDA if has_nvidia_gpu() else NEEDED_GB_CPU
        return max(0.5, needed - size_gb(self.venv))

    def _require_space(self, needed_gb: float) -> None:
        free_gb = shutil.disk_usage(self.root).free / 1e9
        if free_gb < needed_gb:
            raise SetUpError(
                f"it needs {needed_gb:.1f} GB of free disk space in {self.root}, and "
                f"{free_gb:.1f} GB are free. Free {needed_gb - free_gb:.1f} GB more, or move this "
                f"folder to a larger disk. {AGAIN}"
            )

    def _make_venv(self) -> None:
        self.venv.mkdir(exist_ok=True)
        if self._interpreter_runs() and self._has_pip():
            return
        say(f"Making .venv with Python {sys.version.split()[0]}.")
        made = subprocess.run(
            [sys.executable, "-m", "venv", str(self.venv)],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if made.returncode:
            raise SetUpError(
                f"Python's venv module could not make {self.venv}: {explain(made.stdout)} {AGAIN}"
            )

    def _has_pip(self) -> bool:
        asked = [str(self.python), "-I", "-m", "pip", "--version"]
        return not subprocess.run(asked, capture_output=True).returncode

    def _install(self) -> None:
        say("Installing packages into .venv, once: two to five minutes on a usual line.")
        self.log.write_text("")
        self._forget_half_installed()
        torch = pinned("torch", self.requirements.read_text())
        if torch and sys.platform == "linux" and not has_nvidia_gpu():
            self._install_torch_for_cpu(torch)
        self._pip("install", "-r", str(self.requirements), *for_this_gpu())

    def _install_torch_for_cpu(self, version: str) -> None:
        """PyTorch's CPU build: a fifth of the download that PyPI's build brings on Linux.

        It is not on PyPI. pip's own sources are asked first, then uv, which knows where PyTorch
        keeps it. Where neither has it, PyPI's build does as well, and takes longer.
        """
        if self._installed("torch") in (version, f"{version}+cpu"):
            return
        try:
            self._pip("install", "--no-deps", f"torch=={version}+cpu")
            return
        except PipError as error:
            if error.cause not in ("missing", "conflict"):
                raise
        uv = pinned("uv", self.requirements.read_text())
        say("  PyTorch's CPU build, from PyTorch's own index")
        try:
            if uv:
                self._pip("install", "--no-deps", f"uv=={uv}")
                target = ["--python", str(self.python), "--no-deps", "--torch-backend", "cpu"]
                self._logged(["-m", "uv", "pip", "install", *target, f"torch=={version}"])
                return
        except PipError as error:
            if error.cause == "disk":
                raise
        say("  ... cannot be had here. Taking PyPI's build, with CUDA: 3 GB to download.")
        self._require_space(NEEDED_GB_CUDA - size_gb(self.venv))

    def _installed(self, package: str) -> str | None:
        return self._asked(f"import importlib.metadata as m; print(m.version({package!r}))")

    def _asked(self, program: str) -> str | None:
        """What a line of Python prints in .venv; None where it fails."""
        asked = subprocess.run([self.python, "-I", "-c", program], capture_output=True, text=True)
        return None if asked.returncode else asked.stdout.strip()

    def _pip(self, command: str, *arguments: str) -> None:
        options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        self._logged(["-m", "pip", command, *options, *arguments])

    def _logged(self, arguments: list[str]) -> None:
        """Runs .venv's Python, tells of large downloads, keeps every line in the log."""
        scratch = self.venv / "set-up.tmp"  # one disk to check: /tmp may be a small one
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        lines: list[str] = []
        with (
            self.log.open("a") as log,
            subprocess.Popen(
                [str(self.python), *arguments],
                env=clean_environment() | {"TMPDIR": str(scratch)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                log.write(line)
                lines.append(line)
                tell(line)
        shutil.rmtree(scratch, ignore_errors=True)
        if process.returncode:
            output = "".join(lines)
            raise PipError(
                f"{explain(output)} {AGAIN} All that pip said is in {self.log}.", cause(output)
            )

    def _forget_half_installed(self) -> None:
        """A package without its file list was cut short: pip would take it for installed."""
        for about in self._packages_folder().glob("*.dist-info"):
            if not (about / "RECORD").exists():
                shutil.rmtree(about)

    def _put_checkout_on_path(self) -> None:
        """A notebook's kernel starts in notebooks/ and must find `course`."""
        (self._packages_folder() / "gpu_kernel_course.pth").write_text(f"{self.root}\n")

    def _packages_folder(self) -> Path:
        return Path(self._asked("import sysconfig; print(sysconfig.get_path('purelib'))") or "")


def made_for_folder(venv: Path) -> Path | None:
    """The folder that a virtual environment was made as; None where it does not say."""
    try:
        settings = (venv / "pyvenv.cfg").read_text()
    except OSError:
        return None
    command = re.search(r"^command = .* -m venv (?:--\S+ )*(/.*)$", settings, re.MULTILINE)
    return Path(os.path.realpath(command[1])) if command else None


def pinned(package: str, requirements: str) -> str | None:
    """The version of one package in requirements.txt."""
    found = re.search(rf"^{package}==([^\s;#]+)", requirements, re.MULTILINE)
    return found[1] if found else None


def has_nvidia_gpu() -> bool:
    """Whether a driver for an NVIDIA GPU is there (the last path: Windows' Linux subsystem)."""
    paths = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/usr/lib/wsl/lib/libcuda.so.1")
    return any(Path(path).exists() for path in paths)


def for_this_gpu() -> list[str]:
    """What pip is asked for beside requirements.txt."""
    return [FOR_A_GPU] if has_nvidia_gpu() else []


def size_gb(folder: Path) -> float:
    """What a folder holds, links not followed; 0 where there is none."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118  40,000 files
    return total / 1e9


def clean_environment() -> dict[str, str]:
    """The environment without what would send packages elsewhere than to .venv."""
    strays = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN"}
    kept = {name: value for name, value in os.environ.items() if name not in strays}
    return kept | {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PYTHONUNBUFFERED": "1"}


def cause(output: str) -> str | None:
    """Which of the usual troubles pip met: a key of `TROUBLES`, or None."""
    return next((name for name, (signs, _) in TROUBLES.items() if re.search(signs, output)), None)


def explain(output: str) -> str:
    """What pip met, and its remedy."""
    name = cause(output)
    if name is None:
        return f"it stopped with: {last_line(output)}"
    missing = re.search(r"No matching distribution found for (\S+)", output)
    return TROUBLES[name][1].format(
        package=missing[1] if missing else "", python=sys.version.split()[0]
    )


def last_line(output: str) -> str:
    """What pip said last, errors first."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR", "error"))]
    return (errors or lines or ["nothing at all."])[-1]


def tell(line: str) -> None:
    """Shows pip's line if it is about a wait: a download of 10 MB or more, the unpacking."""
    if found := re.match(r"\s*Downloading (\S+?)-\d\S* \((\d{2,}(?:\.\d+)?) MB\)", line):
        say(f"  {found[1].rsplit('/', 1)[-1]}, {float(found[2]):.0f} MB")
    elif line.startswith("Installing collected packages") and "," in line:
        say(f"  unpacking {line.count(',') + 1} packages")


def say(sentence: str) -> None:
    """To stderr: what a command prints stays its own."""
    print(sentence, file=sys.stderr, flush=True)


@contextlib.contextmanager
def file_errors(root: Path) -> Iterator[None]:
    """Turns what the file system refuses into a sentence."""
    try:
        yield
    except OSError as error:
        where = error.filename or root
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise SetUpError(
                f"{where} cannot be written ({error.strerror}). Make this folder yours (chown), or "
                f"clone it to one where you may write. {AGAIN}"
            ) from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SetUpError(f"the disk is full. Free a few GB. {AGAIN}") from error
        raise SetUpError(f"{where}: {error.strerror}. Put that right. {AGAIN}") from error


def main(arguments: list[str]) -> int:
    set_up = SetUp()
    if arguments == ["--ready"]:
        return 0 if set_up.ready() else 1
    try:
        set_up.run()
    except SetUpError as error:
        say(f"Set-up stopped: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nSet-up was interrupted. Run the same command again: it goes on from here.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
