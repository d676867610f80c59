"""What is said of a GPU at the top of a notebook: what it lacks, by its compute capability."""

import pytest

from course.gpu import lacking, present


@pytest.fixture
def driver(monkeypatch, tmp_path):
    """Puts a driver in this machine's place, which answers with a text."""

    def answering(text, status=0):
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\necho '{text}'\nexit {status}\n")
        program.chmod(0o755)

    monkeypatch.setattr(present, "_DEVICES", (tmp_path,))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(present.SWITCH, raising=False)
    return answering


def test_of_colabs_t4_bf16_tma_and_64_kb_are_said(driver, capsys):
    driver("Tesla T4, 7.5")
    lacking.tell()
    assert capsys.readouterr().out == (
        "This machine's Tesla T4 (compute capability 7.5) has no bf16 in its tensor cores, no "
        "asynchronous copies (cp.async), no TMA, no tensor memory and at most 64 KB of shared "
        "memory a block. Every exercise can be solved here all the same: the engine checks it, "
        "and its verdict holds.\n"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("NVIDIA A100-SXM4-80GB, 8.0", "has no TMA and no tensor memory."),
        ("NVIDIA L4, 8.9\nTesla T4, 7.5", "no tensor memory and at most 99 KB of shared memory"),
        ("NVIDIA H200, 9.0", "NVIDIA H200 (compute capability 9.0) has no tensor memory."),
        ("NVIDIA GeForce RTX 5090, 12.0", "has no tensor memory and at most 99 KB of shared"),
    ],
)
def test_of_another_gpu_what_it_lacks(driver, answer, said):
    driver(answer)
    assert said in lacking.lacking()


@pytest.mark.parametrize("answer", ["NVIDIA B200, 10.0", "", "No devices were found", "x, [N/A]"])
def test_of_a_gpu_that_lacks_nothing_or_does_not_answer_nothing_is_said(driver, answer, capsys):
    driver(answer, status=9)
    lacking.tell()
    assert capsys.readouterr().out == ""


def test_without_a_gpu_or_where_it_is_left_alone_nobody_is_asked(driver, monkeypatch, tmp_path):
    driver("Tesla T4, 7.5")
    monkeypatch.setenv(present.SWITCH, "off")
    assert lacking.lacking() == ""
    monkeypatch.delenv(present.SWITCH)
    monkeypatch.setattr(present, "_DEVICES", (tmp_path / "none",))
    assert lacking.lacking() == ""
    monkeypatch.setattr(present, "_DEVICES", (tmp_path,))
    (tmp_path / "nvidia-smi").unlink()
    assert lacking.lacking() == ""
