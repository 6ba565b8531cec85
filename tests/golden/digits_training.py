"""Trains the digits MLP in JAX, float64, one device: the oracle of tests/training.

    python tests/golden/digits_training.py            # writes digits_training.json beside it
    python tests/golden/digits_training.py --accuracy # prints test accuracies for seeds 0 to 4

Needs jax and numpy. Nothing here comes from the library under test: the order of samples and the
initial weights are computed from their published definitions (Philox4x64-10, Feistel network).
"""

import json
import os
import pathlib
import platform
import struct
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

jax.config.update("jax_enable_x64", True)

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
INPUTS, HIDDEN, CLASSES = 64, 128, 10
TRAIN, TEST, BATCH = 1500, 297, 64
LR, MOMENTUM = 0.2, 0.9
MASK = 2**64 - 1


def philox4x64_10(key, counter):
    """256 random bits as four integers (Salmon et al., SC 2011)."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = (b >> 64) ^ c1 ^ k0, b & MASK, (a >> 64) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return c0, c1, c2, c3


def random_bits(seed, stream, epoch, index):
    """The 64-bit numbers of (seed, stream, epoch, index); streams: 0 user, 1 permutation."""
    block = 0
    while True:
        yield from philox4x64_10((seed, stream), (block, index, epoch, 0))
        block += 1


def check_philox_against_numpy():
    key, counter = (7, 11), (5, 1, 2, 3)  # NumPy increments its counter before each block
    reference = np.random.Philox(key=np.array(key, dtype=np.uint64),
                                 counter=np.array((counter[0] - 1, *counter[1:]), dtype=np.uint64))
    assert tuple(int(v) for v in reference.random_raw(4)) == philox4x64_10(key, counter)


def permutation(size, seed, epoch):
    """The order of an epoch, for size > 256: Feistel, 8 rounds of (a x + b) >> shift, walked."""
    assert size > 256
    width = (size - 1).bit_length()
    low_bits = (width + 1) // 2
    high_bits = width - low_bits
    bits = random_bits(seed, 1, epoch, size)
    rounds = [(next(bits), next(bits)) for _ in range(8)]

    def mix(r, x, out_bits):
        a, b = rounds[r]
        return ((x * a + b) & MASK) >> (64 - out_bits)

    def forward(x):
        while True:
            low, high = x & ((1 << low_bits) - 1), x >> low_bits
            for r in range(0, 8, 2):
                high ^= mix(r, low, high_bits)
                low ^= mix(r + 1, high, low_bits)
            x = high << low_bits | low
            if x < size:
                return x

    order = [forward(i) for i in range(size)]
    assert sorted(order) == list(range(size))
    return np.array(order)


def glorot_uniform(seed, leaf, fan_in, fan_out):
    bits = random_bits(seed, 0, 0, leaf)
    limit = np.sqrt(6.0 / (fan_in + fan_out))
    uniform = np.array([(next(bits) >> 11) * 2.0**-53 for _ in range(fan_in * fan_out)])
    return jnp.asarray(((2.0 * uniform - 1.0) * limit).reshape(fan_in, fan_out))


def initial_params(seed):
    return {"w1": glorot_uniform(seed, 0, INPUTS, HIDDEN), "b1": jnp.zeros(HIDDEN),
            "w2": glorot_uniform(seed, 2, HIDDEN, CLASSES), "b2": jnp.zeros(CLASSES)}


def read_digits():
    images = (DATA / "digits-images.idx3-ubyte").read_bytes()
    labels = (DATA / "digits-labels.idx1-ubyte").read_bytes()
    magic, count, rows, columns = struct.unpack(">4I", images[:16])
    assert (magic, count, rows, columns) == (0x803, TRAIN + TEST, 8, 8)
    assert struct.unpack(">2I", labels[:8]) == (0x801, count)
    x = np.frombuffer(images, np.uint8, offset=16).reshape(count, INPUTS) / 16.0
    y = np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)
    return (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])


def logits(params, x):
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss_of(params, x, y):
    return -jnp.mean(jax.nn.log_softmax(logits(params, x))[jnp.arange(x.shape[0]), y])


@jax.jit
def train_step(params, velocity, x, y, lr):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocity, gradient)
    return jax.tree.map(lambda p, v: p - lr * v, params, velocity), velocity, loss


def accuracy(params, x, y):
    return int(jnp.sum(jnp.argmax(logits(params, x), axis=1) == y)) / len(y)


def train(seed, epochs, lr):
    """Per-epoch mean of the batch losses (each before its update), and the final parameters."""
    (x, y), _ = read_digits()
    params = initial_params(seed)
    velocity = jax.tree.map(jnp.zeros_like, params)
    losses = []
    for epoch in range(epochs):
        order = permutation(TRAIN, seed, epoch)
        batches = [order[first:first + BATCH] for first in range(0, TRAIN - BATCH + 1, BATCH)]
        total = 0.0
        for rows in batches:
            params, velocity, loss = train_step(params, velocity, x[rows], y[rows], lr)
            total += float(loss)
        losses.append(total / len(batches))
    return losses, params


def main():
    check_philox_against_numpy()
    _, test = read_digits()
    if "--accuracy" in sys.argv:
        for seed in range(5):
            for epochs in (5, 10, 20):
                losses, params = train(seed, epochs, LR)
                print(f"seed={seed} epochs={epochs} loss={losses[-1]:.6f} "
                      f"test_accuracy={accuracy(params, *test):.4f}")
        return
    seed, epochs, lr = 0, 5, LR
    losses, params = train(seed, epochs, lr)
    result = {
        "command": "python tests/golden/digits_training.py",
        "versions": {"python": platform.python_version(), "numpy": np.__version__,
                     "jax": jax.__version__, "jaxlib": jaxlib.__version__},
        "seed": seed, "epochs": epochs, "lr": lr, "momentum": MOMENTUM, "batch_size": BATCH,
        "hidden": HIDDEN, "train_rows": TRAIN,
        "first_indices": [[int(i) for i in permutation(TRAIN, seed, e)[:8]] for e in range(2)],
        "losses": losses,
        "test_accuracy": accuracy(params, *test),
        "sums": {name: float(jnp.sum(leaf)) for name, leaf in params.items()},
        "sums_of_squares": {name: float(jnp.sum(leaf**2)) for name, leaf in params.items()},
    }
    out = pathlib.Path(__file__).with_suffix(".json")
    out.write_text(json.dumps(result, indent=2) + "\n")  # repr: 17 significant digits, exact
    print(f"wrote {out.name}: losses {losses}, test accuracy {result['test_accuracy']:.4f}")


if __name__ == "__main__":
    main()
