# %% [markdown]
# # Primer: attention in NumPy
#
# One page for those who have never met attention, or only in pictures. **How does a model look
# something up in a text, with nothing but matrix products?** You need this for lessons 10 and 11.

# %%
import numpy as np

from course.figures import primer_attention as pictures
from course.notebook.predict import compare

rng = np.random.default_rng(0)

# %% [markdown]
# ## A lookup that does not choose
#
# A Python dict looks up one key and returns its value. All other keys might as well not be there.
# Attention looks up *softly*: it compares a **query** with every **key**, gives each key a
# **weight** by how well it matches, and returns the weighted mean of all **values**. If one key
# matches far better than the rest, that is nearly its value. If two match alike, it is the mean of
# theirs.

# %%
pictures.soft_lookup()

# %% [markdown]
# Queries, keys and values are rows of D numbers. "Matches" is a dot product: the sum of products of
# two rows, large where they point in the same direction.

# %%
keys = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
values = np.array([[10.0, 0.0], [20.0, 0.0], [30.0, 5.0]])
query = np.array([3.0, 1.0])

scores = keys @ query  # one for each key
print("scores:", scores)

# %% [markdown]
# ## Softmax: from scores to weights
#
# Weights should be positive and add up to 1. The exponential makes any number positive and a
# difference of scores into a *ratio* of weights: 1 more in score is 2.7 times the weight. Then
# divide by the sum. That is the **softmax**:

# %%
weights = np.exp(scores) / np.exp(scores).sum()
print("weights:", weights.round(3), " sum:", weights.sum())
print("output: ", weights @ values, " the first column is the picture's")

# %% [markdown]
# *Predict:* add 100 to every score. By which factor does each weight change?

# %% predict_shift
prediction = ...

# %%
shifted = np.exp(scores + 100) / np.exp(scores + 100).sum()
compare(prediction, float((shifted / weights).round(6)[0]))

# %% [markdown]
# A common factor cancels in the quotient. One uses that against overflow: exp(100) is more than
# float32 can hold, so the greatest score is subtracted first, and the greatest exponential is 1.
#
# ## Many queries: two matrix products
#
# In a text each of N positions has a query, a key and a value. (They come from the same row of
# numbers, its word's, by three products with learned matrices. That part is not our concern.) Put
# them into matrices of N rows, and all lookups together are:

# %%


def softmax(S):
    """Each row for itself."""
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def attention(Q, K, V):  # each (N, D)
    S = Q @ K.T / np.sqrt(Q.shape[1])  # (N, N): row i holds query i's scores
    P = softmax(S)  # (N, N): every row adds up to 1
    return P @ V  # (N, D): row i is query i's weighted mean


N, D = 6, 4
Q, K, V = (rng.standard_normal((N, D)) for _ in range(3))
print(attention(Q, K, V).shape)

# %% [markdown]
# Why the division by sqrt(D)? A dot product of D pairs of independent numbers with standard
# deviation 1 has the standard deviation sqrt(D). Without the division, scores would grow with D,
# and the softmax would choose one key and ignore the rest.

# %%
for width in (4, 64, 1024):
    products = (rng.standard_normal((2000, width)) * rng.standard_normal((2000, width))).sum(axis=1)
    print(f"D = {width:4}: standard deviation {products.std():6.2f}, sqrt(D) {np.sqrt(width):6.2f}")

# %% [markdown]
# ## The keys in another order
#
# *Predict:* shuffle the rows of K and V, both in the same way. How many of the N rows of the output
# change?

# %% predict_order
prediction = ...

# %%
order = rng.permutation(N)
before, after = attention(Q, K, V), attention(Q, K[order], V[order])
changed = int((~np.isclose(before, after)).any(axis=1).sum())
compare(prediction, changed, "rows")

# %% [markdown]
# A weighted mean does not care in which order its terms are added. (A model tells positions apart
# by numbers that it mixes into Q and K.) Lesson 10 lives on that: a kernel may go through the keys
# in tiles, in any order, or in several programs at once.
#
# ## Causal: only what came before
#
# A model that predicts the next word must not see it. Position i may look at positions 0 to i: the
# other scores are set to -inf, whose exponential is 0.

# %%
S = Q @ K.T / np.sqrt(D)
past = np.tri(N, dtype=bool)  # row i: True in columns 0 to i
print(softmax(np.where(past, S, -np.inf)).round(2))

# %%
pictures.masks()

# %% [markdown]
# ## Heads
#
# One such lookup is a **head**. A layer has many, each with its own Q, K and V of fewer columns,
# and puts their outputs side by side: one may look for the subject of a sentence, another for the
# last bracket. To a kernel they are a third axis, (H, N, D), and NumPy's `@` already treats it so:

# %%
Q, K, V = (rng.standard_normal((8, N, D)) for _ in range(3))
S = Q @ K.swapaxes(1, 2) / np.sqrt(D)
print("scores of 8 heads:", S.shape)

# %% [markdown]
# ## What it costs
#
# Two products of 2 N N D operations each, for every head, and a matrix of N x N numbers between
# them. Twice the text, four times the work.
#
# *Predict:* N = 10,000 positions, D = 64. How many times larger is S than Q?

# %% predict_size
prediction = ...

# %%
compare(prediction, 10_000 * 10_000 / (10_000 * 64), "times", tolerance=0.05)

# %% [markdown]
# **In one line:** scores are dot products of queries and keys over sqrt(D), a softmax of each row
# makes weights, the output is the weighted mean of the values. Lesson 10 computes it without ever
# holding S.
