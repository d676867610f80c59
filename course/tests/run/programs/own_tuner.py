"""A library's own tuner, which times what Triton's times and keeps the fastest."""

import torch
import triton
import triton.language as tl
from triton.runtime.autotuner import Autotuner


class Tuner(Autotuner):
    def run(self, *args, **named):
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        took = {one: self._bench(*args, config=one, **named)[0] for one in self.configs}
        print("fits:", [one.kwargs["BLOCK"] for one in took if took[one] < float("inf")])
        best = min(took, key=took.get)
        return self.fn.run(*args, **named, **best.all_kwargs())


@triton.jit
def product(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK)[:, None]
    at = row * BLOCK + tl.arange(0, BLOCK)
    total = tl.dot(tl.load(x_ptr + at), tl.load(y_ptr + at))
    tl.store(out_ptr + at, total)


configs = [triton.Config({"BLOCK": size}) for size in (512, 64)]
times = {"do_bench": lambda call, quantiles: (call(), [1.0] * 3)[1]}
tuned = Tuner(product, product.arg_names, configs, [], None, None, **times)
x, y = (torch.rand(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
out = torch.zeros(512, 512, device="cuda")
tuned[(1,)](x, y, out)
