"""What the custom calls of oneDNN mean, as XLA's CPU backend config describes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo_tui.replay.dotting import accumulator, saturated
from hlo_tui.replay.traced import Call, Function, Unsupported, dtype_of

_KINDS = ("UNDEFINED", "BIAS", "RELU", "TANH", "GELU_ERF", "GELU_TANH", "BINARY_ADD", "LINEAR")
_ADDED = frozenset({"BIAS", "BINARY_ADD", "SUM"})


def matmul(call: Call) -> Function:
    """`__onednn$matmul`: A, B, then one operand for each fused addition."""
    settings = call.settings("onednn_matmul_config")
    if settings.get("optimization_config", settings).get("weights_prepacked"):
        raise Unsupported("the weights were packed into a layout of the library's own")
    finish = _FusedOps(settings)
    kept = accumulator(*(dtype_of(shape) for shape in (*call.operands[:2], call.results[0])))
    result = dtype_of(call.results[0])

    def run(a: Any, b: Any, *rest: Any) -> Sequence[Any]:
        import jax.numpy as jnp

        left = _permuted(a, settings, "lhs", bool(settings.get("transpose_a")))
        right = _permuted(b, settings, "rhs", bool(settings.get("transpose_b")))
        product = jnp.matmul(left.astype(kept), right.astype(kept), preferred_element_type=kept)
        value = finish.apply(product, rest)
        order = _order(settings, "result")
        return [saturated(jnp.transpose(value, order) if order else value, result)]

    return run


def convolution(call: Call) -> Function:
    """`__onednn$convolution`: input, filter, then one operand for each fused addition."""
    settings = call.settings("onednn_conv_config")
    finish = _FusedOps(settings, _number(settings, "output", "data", "feature_dim"))
    kept = accumulator(*(dtype_of(shape) for shape in call.operands[:2]))
    result = dtype_of(call.results[0])
    window = settings.get("window", {})
    strides, dilations, low, high = (
        # These numbers are written one too large, so that none of them is 0.
        [int(number) - 1 for number in window.get(name, ())]
        for name in ("strides", "window_dilations", "pad_left", "pad_right")
    )

    def run(x: Any, w: Any, *rest: Any) -> Sequence[Any]:
        from jax import lax

        numbers = lax.ConvDimensionNumbers(
            (_number(settings, "input", "data", "batch_dim"),
             _number(settings, "input", "data", "feature_dim"), *_spatial(settings, "input", "data")),
            (_number(settings, "kernel", "filter", "output_feature_dim"),
             _number(settings, "kernel", "filter", "input_feature_dim"),
             *_spatial(settings, "kernel", "filter")),
            (_number(settings, "output", "data", "batch_dim"),
             _number(settings, "output", "data", "feature_dim"), *_spatial(settings, "output", "data")),
        )  # fmt: skip
        groups = max(int(settings.get("feature_groups", 1)), 1)
        padding = list(zip(low, high, strict=True))
        wide = x.astype(kept), w.astype(kept)
        value = lax.conv_general_dilated(*wide, strides, padding, None, dilations, numbers, groups)
        return [saturated(finish.apply(value, rest), result)]

    return run


def layer_norm(call: Call) -> Function:
    """`__onednn$layernorm`: x, scale, shift; over the last dimension."""
    settings = call.settings("onednn_layer_norm_config")
    epsilon = _as_float(settings.get("epsilon_typecast", 0))

    def run(x: Any, scale: Any, shift: Any) -> Sequence[Any]:
        import jax.numpy as jnp

        wide = x.astype(jnp.float32)
        centred = wide - wide.mean(axis=-1, keepdims=True)
        variance = jnp.square(centred).mean(axis=-1, keepdims=True)
        return [centred / jnp.sqrt(variance + epsilon) * scale + shift]

    return run


def softmax(call: Call) -> Function:
    """`__onednn$softmax`: along the dimension that its config names."""
    settings = call.settings("onednn_softmax_config")
    axis = int(settings.get("softmax_axis", 0)) if settings else -1

    def run(x: Any) -> Sequence[Any]:
        import jax
        import jax.numpy as jnp

        return [jax.nn.softmax(x.astype(jnp.float32), axis=axis)]

    return run


class _FusedOps:
    """What is done to a product, in order."""

    def __init__(self, settings: dict[str, Any], feature: int = -1) -> None:
        fusions = settings.get("fusions", settings)
        named = fusions.get("ops", fusions.get("fused_ops", ()))
        self._kinds = [_KINDS[kind] if isinstance(kind, int) and kind < 8 else str(kind) for kind in named]
        alphas = fusions.get("alpha_typecast", [])
        self._factors = [_as_float(alpha) for alpha in (alphas if isinstance(alphas, list) else [alphas])]
        self._feature = feature
        for kind in self._kinds:
            if kind not in _ACTIVATIONS and kind not in _ADDED and kind != "LINEAR":
                raise Unsupported(f"the fused operation {kind} is not known")

    def apply(self, value: Any, operands: Sequence[Any]) -> Any:
        """The value after all of them."""
        given, factors = list(operands), list(self._factors)
        for kind in self._kinds:
            if kind in _ADDED:
                value = value + self._spread(given.pop(0), value)
            elif kind == "LINEAR":
                value = value * factors.pop(0)
            else:
                value = _ACTIVATIONS[kind](value)
        return value

    def _spread(self, addend: Any, value: Any) -> Any:
        from jax import lax

        wide = addend.astype(value.dtype)
        if addend.ndim == 1 and self._feature >= 0:
            return lax.broadcast_in_dim(wide, value.shape, (self._feature,))
        return wide


def _named(name: str, **options: Any) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        import jax

        return getattr(jax.nn, name)(x, **options)

    return run


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "RELU": _named("relu"),
    "RELU6": _named("relu6"),
    "TANH": _named("tanh"),
    "ELU": _named("elu"),
    "SIGMOID": _named("sigmoid"),
    "SWISH": _named("silu"),
    "GELU_ERF": _named("gelu", approximate=False),
    "GELU_TANH": _named("gelu", approximate=True),
}


def _permuted(x: Any, settings: dict[str, Any], side: str, transposed: bool) -> Any:
    """An operand with its dimensions where the product takes them."""
    import jax.numpy as jnp

    order = _order(settings, side)
    placed = jnp.transpose(x, [order.index(d) for d in range(x.ndim)]) if order else x
    return jnp.swapaxes(placed, -1, -2) if transposed and x.ndim > 1 else placed


def _order(settings: dict[str, Any], side: str) -> list[int]:
    written = settings.get(side, {}).get("tensor", {}).get("dimensions", ())
    return [int(number) - 1 for number in written]


def _number(settings: dict[str, Any], *path: str) -> int:
    inner: Any = settings
    for name in path:
        inner = inner.get(name, {})
    return int(inner or 0)


def _spatial(settings: dict[str, Any], side: str, kind: str) -> tuple[int, ...]:
    written = settings.get(side, {}).get(kind, {}).get("spatial_dims", ())
    return tuple(int(number) - 1 for number in written)


def _as_float(bits: Any) -> float:
    """A float that was written as the integer of its bits."""
    return float(np.array(int(bits) & 0xFFFFFFFF, np.uint32).view(np.float32))
