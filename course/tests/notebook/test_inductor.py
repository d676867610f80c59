"""What torch.compile writes: read without a GPU, and said in words where it cannot be."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from course.notebook import inductor  # noqa: E402  # both need a wheel


def two_lines(x):
    y = x.cos()
    return y.cos()


def summed_twice(x):
    return x.sum() + (x - x.sum()).exp().sum()


@pytest.mark.slow
def test_two_lines_become_one_kernel_with_one_load_and_one_store() -> None:
    written = inductor.kernels_of(two_lines, torch.randn(5000))
    assert len(written.kernels) == 1, written.reason
    (kernel,) = written.kernels
    assert kernel.startswith("@triton.jit\ndef triton_")
    assert (kernel.count("tl.load("), kernel.count("tl.store(")) == (1, 1)
    assert kernel.count(".cos(") == 2
    assert str(written).startswith("1 kernel:\n@triton.jit")


def test_every_kernel_of_a_function_is_found() -> None:
    written = inductor.kernels_of(summed_twice, torch.randn(50_000))
    assert len(written.kernels) > 1
    assert all(kernel.count("@triton.jit") == 1 for kernel in written.kernels)


def test_inductor_is_left_as_it_was() -> None:
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering

    before = config.cpu_backend, GraphLowering.compile_to_module
    inductor.kernels_of(two_lines, torch.randn(16))
    assert (config.cpu_backend, GraphLowering.compile_to_module) == before


def test_where_inductor_works_otherwise_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.graph import GraphLowering

    monkeypatch.delattr(GraphLowering, "codegen")
    written = inductor.kernels_of(two_lines, torch.randn(16))
    assert written.kernels == ()
    assert "torch.compile wrote no Triton here: InductorError: AttributeError" in str(written)


def test_what_dynamo_refuses_becomes_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("torch.compile is not supported on Python 3.99\nmore")

    monkeypatch.setattr(torch, "compile", refuse)
    written = inductor.kernels_of(two_lines, torch.randn(16))
    assert written.reason == "RuntimeError: torch.compile is not supported on Python 3.99"
