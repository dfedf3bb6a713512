"""Threefry, JAX's generator of random numbers, which its GPU programs call as a kernel.

The function is Threefry-2x32 with 20 rounds of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from typing import Any

from hlo_tui.replay.traced import Call, Function, Unsupported

TARGETS = ("cu_threefry2x32_ffi", "hip_threefry2x32_ffi", "cu_threefry2x32", "hip_threefry2x32")
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(call: Call) -> Function:
    """Two words of the key and two of the counter, each an array; two arrays of random bits.

    Raises:
        Unsupported: there are more or less of them.
    """
    if len(call.operands) != 4:
        raise Unsupported("it does not take two words of a key and two of a counter")

    def run(key0: Any, key1: Any, x0: Any, x1: Any) -> list[Any]:
        keys = (key0, key1, key0 ^ key1 ^ _PARITY)
        x0, x1 = x0 + keys[0], x1 + keys[1]
        for group in range(5):
            for distance in _ROTATIONS[group % 2]:
                x0 = x0 + x1
                x1 = x0 ^ ((x1 << distance) | (x1 >> (32 - distance)))
            x0 = x0 + keys[(group + 1) % 3]
            x1 = x1 + keys[(group + 2) % 3] + (group + 1)
        return [x0, x1]

    return run
