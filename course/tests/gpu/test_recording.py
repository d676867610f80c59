"""A record's file is what `course.gpu.recording` writes of it, and says where it was made."""

import json
from pathlib import Path

import pytest

from course.gpu import recording

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("docs/full_size.json", 2),
        ("autograder/tests/gpu_counters.json", 2),
        ("course/tests/engine/hardware/h200.json", 2),
        ("course/exercises/speed_of_light.json", 3),
    ],
)
def test_a_record_read_and_written_is_the_same_file(name: str, levels: int) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert recording.in_lines(json.loads(text), levels) + "\n" == text


def test_a_record_names_its_gpu_its_packages_and_its_command(monkeypatch) -> None:
    said = {"nvidia-smi": "NVIDIA H200, 580.159.04, 143771 MiB, 9.0", "ncu": "Version 2025.3.1"}
    monkeypatch.setattr(recording, "_said", lambda program, *_: said.get(program, ""))
    found = recording.provenance("python -m it --out x.json")
    assert found["gpu"] == "NVIDIA H200, 580.159.04, 143771 MiB"
    assert (found["compute_capability"], found["ncu"]) == ("9.0", "2025.3.1")
    assert found["cuda_toolkit"] == "unknown"
    assert found["command"] == "python -m it --out x.json"
    assert found["numpy"]
