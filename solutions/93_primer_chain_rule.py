# %% [markdown]
# # Primer: the chain rule for kernels
#
# One page for those who need it, before the backward exercises of lessons 06, 08 and 11. **A
# kernel computes y from x. Training needs the other direction: how the loss changes when x does.
# How does one write *that* kernel?**

# %%
import numpy as np

from course.figures import primer_chain_rule as pictures
from course.notebook.predict import compare

rng = np.random.default_rng(0)

# %% [markdown]
# ## One step
#
# At the end of all computing stands one number, the loss L. Write **dx** for the derivative of L by
# x, its **gradient**: raise x by a little e, and L grows by dx * e. If x is an array, so is dx,
# with one number for each element and **the same shape as x**.

# %%
pictures.one_step_back()

# %% [markdown]
# A step y = f(x) sits somewhere in the middle. The step after it hands us dy. Raise x by e: y grows
# by f'(x) * e, and so L grows by dy * f'(x) * e. That is the chain rule, and all of it:
#
# `dx = dy * f'(x)`
#
# So a backward kernel takes dy, and whatever of the forward pass f' needs, and returns dx. For the
# sigmoid, y = 1 / (1 + exp(-x)), f' is y * (1 - y): either x or y will do.
#
# How do you know that it is right? Raise one element by a little and look at the loss. That is
# called a **finite difference**:


# %%
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def loss(y):
    return np.sum(dy * y)  # its gradient by y is dy, whatever y is


x = rng.standard_normal(5)
dy = rng.standard_normal(5)
y = sigmoid(x)
dx = dy * y * (1 - y)

e = 1e-6
for i in range(5):
    raised = x.copy()
    raised[i] += e
    difference = (loss(sigmoid(raised)) - loss(y)) / e
    print(f"element {i}: chain rule {dx[i]:+.6f}, finite difference {difference:+.6f}")

# %% [markdown]
# *Predict:* y = x * x * x, at x = 2, and dy = 10. What is dx?

# %% predict_cube
prediction = ...

# %%
compare(prediction, 10 * 3 * 2**2)

# %% [markdown]
# ## Used twice: add
#
# If x goes into two places, L feels x along two ways. Raise x by e, and both contribute. So **the
# gradients of all uses are added**:

# %%
pictures.used_twice()

# %% [markdown]
# In arrays that happens more often than it looks. A bias b of shape (N,) is added to each of M
# rows: it is used M times, and db is a sum over the M rows. What was *spread* on the way forward
# is *summed* on the way back, and what was summed is spread:
#
# | forward | shapes | backward |
# |---|---|---|
# | `y = x + b` | (M, N) = (M, N) + (N,) | `dx = dy`, `db = dy summed over the rows` |
# | `y = x summed over each row` | (M,) from (M, N) | `dx[i, j] = dy[i]`, for every j |
#
# In a kernel a sum is a reduction, and a reduction across blocks is trouble (lesson 03): atomics,
# or one block that walks over all of it. Whoever spreads freely on the way forward pays on the way
# back.
#
# *Predict:* x has shape (128, 64), b has shape (64,), and dy is 1 everywhere. What is db[0]?

# %% predict_bias
prediction = ...

# %%
dy = np.ones((128, 64))
db = dy.sum(axis=0)
compare(prediction, db[0])

# %% [markdown]
# ## A product of matrices
#
# C = A B, shapes (M, N) = (M, K) (K, N). Take one element of A and follow it. A[i, k] is multiplied
# by B[k, j] and goes into C[i, j], for each j: it is used N times. So add up over its uses:
#
# `dA[i, k] = sum over j of dC[i, j] * B[k, j]`
#
# A sum over the second index of both: row i of dC with row k of B. Column k of Bᵀ is row k of B,
# so that is a product of matrices, **dA = dC Bᵀ**. The same for B[k, j], which goes into C[i, j]
# for each i: `dB[k, j] = sum over i of A[i, k] * dC[i, j]`, **dB = Aᵀ dC**.
#
# Nobody remembers where the ᵀ goes. The shapes do:

# %%
pictures.product_back()

# %%
A = rng.standard_normal((3, 4))
B = rng.standard_normal((4, 5))
dC = rng.standard_normal((3, 5))
dA = dC @ B.T  # (3, 4) = (3, 5) (5, 4)
dB = A.T @ dC  # (4, 5) = (4, 3) (3, 5)

raised = A.copy()
raised[1, 2] += e
difference = (np.sum(dC * (raised @ B)) - np.sum(dC * (A @ B))) / e
print(f"dA[1, 2]: chain rule {dA[1, 2]:+.6f}, finite difference {difference:+.6f}")
raised = B.copy()
raised[3, 0] += e
difference = (np.sum(dC * (A @ raised)) - np.sum(dC * (A @ B))) / e
print(f"dB[3, 0]: chain rule {dB[3, 0]:+.6f}, finite difference {difference:+.6f}")

# %% [markdown]
# A product costs 2MNK operations, and its way back two products of 2MNK each. That is where the
# rule of thumb comes from that training takes three times the operations of the forward pass.
#
# *Predict:* A is (1024, 512), B is (512, 256). Of how many products is each element of dB = Aᵀ dC
# the sum?

# %% predict_terms
prediction = ...

# %%
compare(prediction, 1024, "products")

# %% [markdown]
# ## A row that is divided by its own sum
#
# Softmax, RMSNorm and LayerNorm have one thing in common: each output depends on the whole row,
# by way of one number that was reduced from it. On the way back that number is used by all
# elements, so its gradient is a sum over the row, and then each element gets its share of it. For
# the softmax p = exp(s) / sum of exp(s), one row:
#
# `ds = p * (dp - delta)`, with `delta = sum over the row of p * dp`
#
# The first part, p * dp, is the element's own. The second is its share in the sum. Lesson 11
# derives it; here a finite difference shall do:

# %%
s = rng.standard_normal(6)
dp = rng.standard_normal(6)


def softmax(s):
    weights = np.exp(s - s.max())
    return weights / weights.sum()


p = softmax(s)
ds = p * (dp - np.sum(p * dp))
raised = s.copy()
raised[4] += e
difference = (np.sum(dp * softmax(raised)) - np.sum(dp * p)) / e
print(f"ds[4]: chain rule {ds[4]:+.6f}, finite difference {difference:+.6f}")

# %% [markdown]
# ## What to keep
#
# A backward kernel needs something of the forward pass: x, or y, or a number a row. There are three
# ways to come by it, and they differ in bytes:
#
# - It is an input or an output that is in memory anyway. Free: y serves the sigmoid, and the
#   softmax.
# - It was stored for this purpose: written once, read once, and held in memory in between.
# - It is computed again from what is there. Arithmetic in place of bytes: **recomputation**.
#
# **In one line:** dx has the shape of x and is dy times the derivative; what was used twice is
# added up, what was spread is summed; a product of matrices goes back as two products, and the
# shapes say which.
