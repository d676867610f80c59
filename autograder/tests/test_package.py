"""What `pip install` gives a student."""

from __future__ import annotations

import tomllib

import setuptools  # type: ignore[import-untyped]  # ships no types

from autograder.tests.small_course import REPOSITORY


def test_a_student_who_installs_the_course_gets_nothing_of_the_autograder():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    found = project["tool"]["setuptools"]["packages"]["find"]
    packages = setuptools.find_namespace_packages(
        str(REPOSITORY), include=found["include"], exclude=found["exclude"]
    )
    assert "course.exercises" in packages
    assert {name.partition(".")[0] for name in packages} == {"course"}
    assert not [name for name in packages if "tests" in name.split(".")]
