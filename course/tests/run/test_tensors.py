"""Where a program believes its tensors to lie, and what in them nobody has written."""

import io

import pytest
import torch

from course.engine.triton.running.tensors import unwritten
from course.run.tensors import CPU, CUDA, OnCuda, loading, within_reach


def test_a_tensor_lies_where_the_program_has_put_it() -> None:
    with OnCuda():
        here = torch.arange(4.0)
        there = here.cuda()
        assert (here.device, there.device) == (CPU, CUDA)
        assert (here.is_cuda, there.is_cuda, there.get_device()) == (False, True, 0)
        assert (there + 1).device == torch.cat([there, there]).device == there[1:].device == CUDA
        assert torch.zeros(2, device="cuda:0").device == CUDA
        assert torch.zeros(2, device=there.device).to("cpu").device == CPU
        assert here.to(there).device == here.type_as(there).device == CUDA
        assert there.to(here).device == there.type_as(here).device == CPU
        assert torch.nn.Linear(2, 3).to("cuda").weight.device == CUDA
        with torch.device("cuda"):
            assert torch.ones(2).device == CUDA


def test_pinned_memory_is_the_hosts_and_a_kernel_reaches_it() -> None:
    with OnCuda():
        for made in (torch.zeros(2, pin_memory=True), torch.zeros(2).pin_memory()):
            assert (made.device, within_reach(made)) == (CPU, True)
        assert not within_reach(torch.zeros(2))


def test_an_address_is_the_gpus_where_a_tensor_lies_there() -> None:
    with OnCuda() as mode:
        here, there = torch.arange(6.0), torch.arange(6.0, device="cuda")
        assert here.data_ptr() == here.numpy().ctypes.data < 1 << 48 <= there.data_ptr()
        assert there.data_ptr() % 512 == 0
        assert there[2:].data_ptr() == there.data_ptr() + 8
        assert torch.empty(0, device="cuda").data_ptr() == 0
        with mode.paused():
            assert there.data_ptr() == there.numpy().ctypes.data
            assert [one.shape for one in mode.space.asked()] == [(6,), (4,)]


def test_a_file_is_loaded_to_where_the_program_maps_it() -> None:
    with OnCuda():
        torch.save({"x": torch.ones(2, device="cuda")}, file := io.BytesIO())
        for place in (CPU, CUDA, "cuda"):
            file.seek(0)
            found = loading(torch.load)(file, map_location=place)["x"]
            assert (found.device, found.tolist()) == (torch.zeros(1, device=place).device, [1, 1])


def test_a_norm_of_halves_adds_up_in_float32_as_on_a_gpu() -> None:
    with OnCuda():
        x, up = (torch.randn(1000, 8, device="cuda").half() for _ in range(2))
        weight, bias = (torch.ones(8, device="cuda").half().requires_grad_() for _ in range(2))
        out = torch.nn.functional.layer_norm(x, (8,), weight=weight, bias=bias)
        out.backward(up)
        assert (out.dtype, out.device) == (torch.float16, CUDA)
    torch.testing.assert_close(bias.grad.double(), up.double().sum(0), rtol=1e-3, atol=1e-2)


def test_there_is_one_gpu() -> None:
    with OnCuda():
        there = torch.ones(2, device="cuda")
        for second in (lambda: torch.ones(2, device="cuda:1"), lambda: there.to("cuda:3")):
            with pytest.raises(RuntimeError, match=r"one GPU here, cuda:0, and no cuda:[13]"):
                second()


def test_moving_copies_and_staying_does_not() -> None:
    with OnCuda():
        here = torch.zeros(4)
        there = here.cuda()
        back = there.cpu()
        there += 1
        assert there.to("cuda") is there
        assert here.to("cpu") is here
    assert (here.tolist(), there.tolist(), back.tolist()) == ([0] * 4, [1] * 4, [0] * 4)


@pytest.mark.parametrize(
    ("write", "left"),
    [
        (lambda x: None, True),
        (lambda x: x.view(2, 2), True),
        (lambda x: x.zero_(), False),
        (lambda x: x.view(2, 2).fill_(1), False),
        (lambda x: x.__setitem__(0, 1.0), False),
        (lambda x: torch.add(torch.ones(4), 1, out=x), False),
        (lambda x: torch.nn.init.normal_(x), False),
        (lambda x: x.numpy(), False),
    ],
)
def test_memory_of_torch_empty_is_unwritten_until_something_writes_it(write, left) -> None:
    with OnCuda():
        x = torch.empty(4, device="cuda")
        write(x)
    assert (unwritten(x.untyped_storage()) is not None) == left
