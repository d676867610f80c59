"""A kernel that is launched in a process of its own, started as the first argument says."""

import multiprocessing
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def counted(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, at)


def work():
    x = torch.zeros(64, device="cuda")
    counted[(1,)](x, BLOCK=64)
    counted[(1,)](x, BLOCK=64)
    assert x[63] == 63


if __name__ == "__main__":
    started = multiprocessing.get_context(sys.argv[1]).Process(target=work)
    started.start()
    started.join()
    print("exit", started.exitcode)
