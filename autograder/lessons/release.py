"""nbgrader's part of a build: releasing a notebook, and entering its cells in a gradebook."""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import Refused

if TYPE_CHECKING:
    from traitlets.config import Config


def settings(root: Path) -> Config:
    """nbgrader's settings as `nbgrader` itself reads them from nbgrader_config.py."""
    from traitlets.config.loader import PyFileConfigLoader

    path = sys.path[:]  # the file adds its own folder, which is right for `nbgrader` alone
    try:
        return PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    finally:
        sys.path[:] = path


def release(source: Path, destination: Path, name: str, config: Config) -> None:
    """Lets nbgrader release `source`/NAME/NAME.ipynb to `destination`/NAME/NAME.ipynb.

    The gradebook is left alone, so that the result depends on the notebook only.

    Raises:
        Refused: with nbgrader's own words where it refuses.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import SaveCells

    steps = [step for step in GenerateAssignment.preprocessors.default() if step is not SaveCells]
    config = copy.deepcopy(config)
    config.GenerateAssignment.preprocessors = steps
    config.GenerateAssignment.no_database = True
    _generate(source, destination, name, config)


def register(root: Path, name: str, db_url: str = "") -> None:
    """Enters a built lesson's cells in a gradebook, as `nbgrader generate_assignment` does.

    Args:
        root: the repository, built.
        name: `01_threads`.
        db_url: the gradebook, as SQLAlchemy writes it; the configured one if empty.

    Raises:
        Refused: where the lesson is not built, or nbgrader refuses, as it does when cells
            have come or gone since the first submission.
    """
    source = root / ".build" / "nbgrader" / "source"
    if not (source / name / f"{name}.ipynb").exists():
        raise Refused(f"{name} has not been built. Run `make build` first.")
    config = settings(root)
    if db_url:
        config.CourseDirectory.db_url = db_url
    with tempfile.TemporaryDirectory(prefix="release-") as scratch, _own_programs_first():
        _generate(source, Path(scratch), name, config)


def _generate(source: Path, destination: Path, name: str, config: Config) -> None:
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    config = copy.deepcopy(config)
    config.CourseDirectory.source_directory = str(source)
    config.CourseDirectory.release_directory = str(destination)
    config.CourseDirectory.assignment_id = name
    config.CourseDirectory.notebook_id = name
    with _quiet() as said:
        try:
            converter = GenerateAssignment(
                coursedir=CourseDirectory(config=config), config=config, force=True
            )
            converter.start()
        except (Exception, SystemExit) as error:  # nbgrader raises many kinds
            words = "; ".join(said) or str(error)
            raise Refused(f"{name}: nbgrader refused it: {words}") from error


@contextlib.contextmanager
def _own_programs_first() -> Iterator[None]:
    """Puts this Python's own programs on PATH: nbgrader starts `alembic` by its bare name."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


@contextlib.contextmanager
def _quiet() -> Iterator[list[str]]:
    """Collects what nbgrader logs as errors, and keeps its log off the terminal."""
    import traitlets.log

    said: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage().strip().splitlines()[-1])

    logger = traitlets.log.get_logger()
    if isinstance(logger, logging.LoggerAdapter):
        logger = logger.logger
    before = logger.handlers[:], logger.propagate, logger.level
    handler = Collect(logging.ERROR)
    logger.handlers, logger.propagate = [handler], False
    try:
        yield said
    finally:
        logger.handlers, logger.propagate = before[0], before[1]
        logger.setLevel(before[2])
