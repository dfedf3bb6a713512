"""What the sorts and top-k selections of other backends mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hlo_tui.replay.traced import Call, Function

_DESCENDING = re.compile(rb"descending\W{0,4}(?:true|1)")


def radix_sort(call: Call) -> Function:
    """`__cub$DeviceRadixSort` and its later names: keys along the last dimension, and perhaps values with them."""
    descending = _DESCENDING.search(call.proto.backend_config) is not None

    def run(*operands: Any) -> Sequence[Any]:
        from jax import lax

        last = operands[0].ndim - 1
        if not descending:
            return list(lax.sort(operands, dimension=last, is_stable=True, num_keys=1))
        # Turned round before and after, so that equal keys keep their order.
        turned = tuple(lax.rev(operand, (last,)) for operand in operands)
        sorted_up = lax.sort(turned, dimension=last, is_stable=True, num_keys=1)
        return [lax.rev(operand, (last,)) for operand in sorted_up]

    return run


def top_k(call: Call) -> Function:
    """`__gpu$TopK`: the largest elements along the last dimension, and where they are."""
    k = call.results[0].dimensions[-1]

    def run(x: Any) -> Sequence[Any]:
        from jax import lax

        return list(lax.top_k(x, k))

    return run
