# %% [markdown]
# # Primer: PyTorch for NumPy users
#
# One page for those who know NumPy and not PyTorch. **A tensor is an array that knows on which
# device it lies. What else is different?** You need this from lesson 06 on; lessons 00 to 05 get
# by with NumPy.

# %%
import numpy as np
import torch

from course.notebook.predict import compare

# %% [markdown]
# ## Mostly the same
#
# Indexing, slicing, broadcasting, views and arithmetic work as in NumPy. Some names differ:
#
# | NumPy | PyTorch |
# |---|---|
# | `np.zeros((3, 4))` | `torch.zeros(3, 4)` |
# | `np.random.default_rng(0).normal(size=8)` | `torch.randn(8, generator=...)` |
# | `a.astype(np.float16)` | `a.to(torch.float16)`, `a.half()` |
# | `a.sum(axis=0, keepdims=True)` | `a.sum(dim=0, keepdim=True)` |
# | `np.concatenate([a, b])` | `torch.cat([a, b])` |
# | `a.transpose(0, 2, 1)` | `a.permute(0, 2, 1)`; `a.transpose(1, 2)` swaps two axes |
# | `a.reshape(-1)` | `a.reshape(-1)`; `a.view(-1)` where no copy is needed, else an error |
# | `a.strides`, in bytes | `a.stride()`, in elements |
# | `np.ascontiguousarray(a)` | `a.contiguous()` |
# | `np.allclose(a, b)` | `torch.allclose(a, b)`, `torch.testing.assert_close(a, b)` |

# %%
a = torch.arange(12, dtype=torch.float32).reshape(3, 4)
print(a)
print("shape", tuple(a.shape), " stride", a.stride(), " transposed", a.T.stride())

# %% [markdown]
# ## Different: the default type
#
# NumPy makes `float64` where you do not say otherwise, PyTorch `float32`. Half the bytes, and on
# most GPUs many times the speed.
#
# *Predict:* how many bytes have `np.ones(1000)` and `torch.ones(1000)` together?

# %% predict_bytes
prediction = ...

# %%
numpy_bytes = np.ones(1000).nbytes
torch_bytes = torch.ones(1000).nbytes
compare(prediction, numpy_bytes + torch_bytes, "bytes")

# %% [markdown]
# ## Different: a device
#
# A tensor lies in host memory (`cpu`) or in the memory of a GPU (`cuda`). An operation runs where
# its tensors lie, and all of them have to lie on one device.

# %%
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.randn(1000, device=device)  # made there; nothing is copied
y = x.to("cpu")  # copied, unless it lies there already
print(x.device, y.device)

# %% [markdown]
# On a GPU an operation is put into a queue, and Python goes on at once. Python waits when it needs
# a value: `x.item()`, `print(x)`, `x.cpu()`, `if x.sum() > 0`. For a clock,
# `torch.cuda.synchronize()` waits for everything in the queue.
#
# ## Different: sharing memory with NumPy
#
# `torch.from_numpy(a)` and `t.numpy()` (on the CPU) copy nothing: both names stand for one piece
# of memory. `torch.tensor(a)` copies.

# %%
source = np.zeros(4, dtype=np.float32)
shared = torch.from_numpy(source)
copied = torch.tensor(source)
source[0] = 7
print("shared", shared.tolist(), " copied", copied.tolist())

# %% [markdown]
# ## Different: in place
#
# A method with a trailing underscore changes its tensor: `x.add_(1)` in place of `x = x + 1`. The
# second makes a new tensor: on a GPU one more piece of memory, and the same bytes moved. As in
# NumPy, `x[2:5] = 0` writes into `x`.
#
# ## Different: gradients
#
# A tensor made with `requires_grad=True` remembers how results were computed from it, and
# `result.backward()` fills in its `.grad`: how much `result` changes with each element (primer
# `93_primer_chain_rule`). Lesson 11 writes such backward steps by hand and uses this to check them.
# Inside `with torch.no_grad():` nothing is remembered.

# %%
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(w * w).sum().backward()
print("gradient of the sum of squares:", w.grad.tolist())

# %% [markdown]
# ## What a kernel sees of a tensor
#
# A pointer to its first element, and whatever else you pass: sizes and strides, as plain numbers.
# In Triton (lesson 06) that is `kernel[grid](x, x.shape[0], x.stride(0))`. A kernel that is not
# given the strides of a transposed or sliced tensor reads the wrong places. When in doubt, look at
# `x.stride()` and `x.is_contiguous()`.

# %%
b = torch.arange(12).reshape(3, 4)
for name, view in (("b", b), ("b.T", b.T), ("b[:, :3]", b[:, :3])):
    print(f"{name:9} stride {view.stride()}  contiguous: {view.is_contiguous()}")

# %% [markdown]
# **In one line:** tensors are arrays with a device and a smaller default type; strides count
# elements; work on a GPU is queued, and asking for a value waits for it.
