"""A process in the place of `autograder.sandbox.gpu`: it adds x and y, in the way that it is told.

CUDA_VISIBLE_DEVICES, which is handed on to such a process, says how.
"""

import os
import sys
import time

import msgspec
import numpy as np

from autograder.sandbox.gpu import BEGUN

US = 50.0


def answered(sets, how):
    added = [np.frombuffer(s["x"], "f4") + np.frombuffer(s["y"], "f4") for s in sets]
    if how == "right on its first launch":
        added = [added[0]] * len(sets)
    outputs = [{"out": out.tobytes()} for out in added]
    if how == "short of bytes":
        outputs[-1] = {"out": b"1234"}
    faults = {
        "stray": "CUDA_ERROR_ILLEGAL_ADDRESS of cuEventSynchronize",
        "without room": "CUDA_ERROR_OUT_OF_MEMORY of cuMemAlloc_v2",
        "without a driver": "CUDA_ERROR_NO_DEVICE of cuInit",
    }
    if how in faults:
        return {"fault": faults[how]}
    return {"us": [-1.0 if how == "faster than light" else US] * len(sets), "outputs": outputs}


def main():
    request = msgspec.msgpack.decode(sys.stdin.buffer.read())
    how = request["environment"].get("CUDA_VISIBLE_DEVICES", "")
    if how != "without a driver":
        os.write(2, BEGUN)
    if how == "hangs":
        time.sleep(600)
    if how == "dies":
        os.kill(os.getpid(), 11)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answered(request["sets"], how)))


if __name__ == "__main__":
    main()
