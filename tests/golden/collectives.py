"""What jax.lax's collectives make of small arrays: the oracle of tests/spmd/golden.cpp.

    python tests/golden/collectives.py   # writes collectives.json beside it

Needs jax and numpy. Device d's array is d * 1000 + 0, 1, 2, ...; a case holds what all devices got,
one after the other, or "error" where JAX refuses the call.
"""

import itertools
import json
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import numpy as np
from jax.sharding import PartitionSpec as P

NAMES = ("x", "y")


def run(mesh_shape, shape, code):
    """What `code` makes of each device's array, stacked, or None where it is refused."""
    n = int(np.prod(mesh_shape))
    devices = np.array(jax.devices()[:n]).reshape(mesh_shape)
    mesh = jax.sharding.Mesh(devices, NAMES[: len(mesh_shape)])
    size = int(np.prod(shape))
    arrays = np.stack([np.arange(size, dtype=np.int32).reshape(shape) + 1000 * d for d in range(n)])
    step = jax.shard_map(
        lambda v: code(v[0])[None],
        mesh=mesh,
        in_specs=P(mesh.axis_names),
        out_specs=P(mesh.axis_names),
        check_vma=False,
    )
    try:
        return np.asarray(jax.jit(step)(arrays))
    except (ValueError, TypeError, AssertionError, IndexError):
        return None


def case(op, mesh_shape, shape, parameters, code):
    result = run(mesh_shape, shape, code)
    found = {"op": op, "mesh": mesh_shape, "shape": shape, **parameters}
    if result is None:
        return {**found, "error": True}
    return {**found, "result_shape": result.shape[1:], "result": result.ravel().tolist()}


def cases():
    for mesh_shape, axes in [((2,), "x"), ((3,), "x"), ((2, 2), "y"), ((2, 2), ("y", "x")), ((2, 2), ("x", "y"))]:
        names = axes if isinstance(axes, tuple) else (axes,)
        n = int(np.prod([mesh_shape[NAMES.index(a)] for a in names]))
        shapes = [(n,), (n, 2), (2 * n, n), (n, 1, 2 * n), (2, n, 3), (3,), ()]
        for shape in shapes:
            for split, concat, tiled in itertools.product(range(3), range(3), [False, True]):
                if max(split, concat) > len(shape):
                    continue
                yield case(
                    "all_to_all", mesh_shape, shape,
                    {"axes": names, "split": split, "concat": concat, "tiled": tiled},
                    lambda v: jax.lax.all_to_all(v, names, split, concat, tiled=tiled),
                )
        for op in ["psum", "pmax", "pmin"]:
            yield case(op, mesh_shape, (2, 2), {"axes": names},
                       lambda v: getattr(jax.lax, op)(v, names))
        # JAX's ppermute counts devices in the mesh's order of axes, whatever order is asked for, its
        # axis_index in the order asked for: no oracle there.
        if names != tuple(sorted(names)):
            continue
        everyone = list(range(n))
        for pairs in [
            [],
            [(d, (d + 1) % n) for d in everyone],
            [(d, n - 1 - d) for d in everyone],
            [(n - 1, 0)],
            [(0, 1), (0, 0)],
            [(0, 1), (1, 1)],
        ]:
            yield case(
                "ppermute", mesh_shape, (2,), {"axes": names, "pairs": pairs},
                lambda v: jax.lax.ppermute(v, names, pairs),
            )


def main():
    lines = [json.dumps(c, separators=(",", ":")) for c in cases()]
    versions = json.dumps({"jax": jax.__version__, "numpy": np.__version__})
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text('{"versions":%s,"cases":[\n%s\n]}\n' % (versions, ",\n".join(lines)))


if __name__ == "__main__":
    main()
