"""`python -m autograder cluster`: certificates, a scheduler and workers for `grade --scheduler`.

    cluster certificates DIR      once: cert.pem and key.pem, to be copied to every machine
    cluster scheduler --tls DIR   on one machine
    cluster worker tls://HOST:8786 --tls DIR   on each machine that is to judge
    grade submitted/ --scheduler tls://HOST:8786 --tls DIR

Without --tls all of it stays on this machine (127.0.0.1). Scheduler and workers are Dask's own.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from autograder import Refused
from autograder.grading.cluster import CERTIFICATE, INSTALL, KEY, SCHEDULER, security, with_protocol
from autograder.grading.files import write
from autograder.judge.pool import ROOT
from autograder.sandbox import walls

PORT = 8786


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    certificates = parts.add_parser("certificates", help="make what TLS needs")
    certificates.add_argument("folder", type=Path, metavar="DIR")
    scheduler = parts.add_parser("scheduler", help="start a scheduler")
    scheduler.add_argument(
        "--host", help="default: all of this machine's with --tls, else 127.0.0.1"
    )
    scheduler.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}")
    worker = parts.add_parser("worker", help="start workers")
    worker.add_argument("address", help="the scheduler's: tls://HOST:8786")
    worker.add_argument("--jobs", type=int, default=os.cpu_count(), help="default: one a core")
    worker.add_argument("--trust", action="store_true", help="although there is no sandbox")
    for part in (scheduler, worker):
        part.add_argument("--tls", type=Path, metavar="DIR", help="the folder of the certificates")


def main(args: argparse.Namespace) -> int:
    """Makes certificates, or becomes Dask's scheduler or worker."""
    try:
        if args.part == "certificates":
            return _certificates(args.folder)
        if args.part == "scheduler":
            host = args.host or ("0.0.0.0" if args.tls else "127.0.0.1")
            with_protocol(f"{host}:{args.port}", args.tls)
            words = ["scheduler", "--host", host, "--port", str(args.port)]
        else:
            walls.choose(args.trust)
            address = with_protocol(args.address, args.tls)
            words = ["worker", address, "--nthreads", "1", "--nworkers", str(args.jobs)]
            words += ["--memory-limit", "0"]  # the pool watches what a notebook takes
        security(args.tls)
        import distributed  # noqa: F401
    except ModuleNotFoundError as error:
        raise Refused(f"A cluster needs the package {error.name}: {INSTALL}") from error
    except OSError as error:
        raise Refused(f"{error.filename}: {error.strerror}. Choose another folder.") from error
    return _become(words, args.tls)


def _become(words: list[str], tls: Path | None) -> int:
    command = [sys.executable, "-m", f"distributed.cli.dask_{words[0]}", *words[1:]]
    # what it shows of workers and work is nobody's business on the network
    command += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    if tls is not None:
        certificate = str(tls / CERTIFICATE)
        command += ["--protocol", "tls", "--tls-ca-file", certificate, "--tls-cert", certificate]
        command += ["--tls-key", str(tls / KEY)]
        os.environ["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] = "True"
    for setting, value in SCHEDULER.items():
        name = setting.upper().replace(".", "__").replace("-", "_")
        os.environ[f"DASK_{name}"] = str(value)
    os.environ["PYTHONPATH"] = str(ROOT)  # a worker finds the grader, wherever it was started
    os.execv(sys.executable, command)


def _certificates(folder: Path) -> int:
    from distributed.security import Security

    if any((folder / name).exists() for name in (CERTIFICATE, KEY)):
        raise Refused(
            f"{folder} has {CERTIFICATE} or {KEY} already, and it is left. Where one of them is "
            "lost, remove the other, make both anew, and copy them to every machine."
        )
    made = Security.temporary()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    old = os.umask(0o077)
    try:
        write(folder / KEY, [made.tls_client_key.encode()])
        write(folder / CERTIFICATE, [made.tls_ca_file.encode()])
    finally:
        os.umask(old)
    print(
        f"{folder} holds {CERTIFICATE} and {KEY}, for a year. Who has them can have the cluster "
        "run anything: copy the folder to its machines, and to no other.\n"
        f"  python -m autograder cluster scheduler --tls {folder}\n"
        f"  python -m autograder cluster worker tls://HOST:{PORT} --tls {folder}\n"
        f"  python -m autograder grade submitted/ --scheduler tls://HOST:{PORT} --tls {folder}"
    )
    return 0
