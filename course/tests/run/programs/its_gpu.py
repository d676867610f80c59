"""What a Numba program asks of its GPU, its context and its streams."""

import asyncio

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import driver


@cuda.jit
def doubled(x):
    x[cuda.grid(1)] *= 2


device = cuda.get_current_device()
assert device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN == 163 << 10
assert device.MAX_THREADS_PER_MULTI_PROCESSOR == 2048
assert (device.COMPUTE_CAPABILITY_MAJOR, device.COMPUTE_CAPABILITY_MINOR) == (8, 0)
assert device.UNIFIED_ADDRESSING
assert not device.INTEGRATED
assert not hasattr(device, "name_of_its_owner")
assert driver.get_version() >= (12, 0)
assert driver.get_device_count() == 1


async def run():
    stream = cuda.external_stream(0)
    x = cuda.to_device(np.arange(32), stream=stream).bind(stream)
    doubled[1, 32, stream](x)
    await stream.async_done()
    return x.copy_to_host(stream=stream)


with cuda.current_context() as context:
    assert asyncio.run(run()).tolist() == [*range(0, 64, 2)]
    context.deallocations.clear()


@cuda.jit
def drawn(turns, out):
    state = out[0]
    while turns > 0:
        state = (state * 1103515245 + 12345) % 2147483648
        turns -= 1
    out[0] = state


out, state = np.ones(1, np.int64), 1
for _ in range(100_000):
    state = (state * 1103515245 + 12345) % 2147483648
drawn[1, 1](100_000, out)
assert out[0] == state

every_second = np.arange(64)[::2]
for given in (every_second, cuda.InOut(every_second)):
    try:
        doubled[1, 32](given)
    except ValueError as error:
        assert "non-contiguous buffer" in str(error)  # noqa: PT017
    else:
        raise AssertionError("a view of the host's was copied to the GPU")
doubled[1, 32](cuda.to_device(np.arange(64))[::2])
print("all right", flush=True)
device.CLOCK_RATE  # noqa: B018
