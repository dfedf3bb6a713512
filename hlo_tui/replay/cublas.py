"""What the matrix multiplications of cuBLAS, cuBLASLt and hipBLASLt mean, as XLA's backend config describes them.

D = activation(alpha * A . B + beta * C + bias), with scales around it for the 8-bit types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hlo_tui.replay import arrays
from hlo_tui.replay.blockscaled import scaled_product
from hlo_tui.replay.dotting import accumulator, dot, dot_dimensions, saturated
from hlo_tui.replay.traced import Call, Function, Unsupported, dtype_of

_EPILOGUES = (
    "DEFAULT", "BIAS", "RELU", "BIAS_RELU", "GELU", "GELU_AUX", "BIAS_GELU", "BIAS_GELU_AUX",
)  # fmt: skip


def product(call: Call) -> Function:
    """`__cublas$gemm` and `__cublas$lt$matmul`: operands A, B, then C where beta is not 0, then the bias."""
    settings = call.settings("gemm_backend_config")
    finish = _Epilogue(call, settings)
    multiply = _scaled(call, settings)

    def run(a: Any, b: Any, *rest: Any) -> Sequence[Any]:
        value = multiply(a, b)
        given = list(rest)
        if finish.beta:
            value = value + finish.beta * given.pop(0).astype(value.dtype)
        activated, before = finish.activate(value, given)
        return [activated, before] if finish.auxiliary else [activated]

    return run


def product_f8(call: Call) -> Function:
    """`__cublas$lt$matmul$f8`: as above, with the scales of A and B behind C, and that of D at the end.

    Older XLA gives four scales (A, B, C, D), and the bias behind them.
    """
    settings = call.settings("gemm_backend_config")
    finish = _Epilogue(call, settings)
    multiply = _scaled(call, settings)
    with_maximum = bool(settings.get("damax_output"))
    result = dtype_of(call.results[0])

    def run(a: Any, b: Any, *rest: Any) -> Sequence[Any]:
        import jax.numpy as jnp

        given = list(rest)
        c = given.pop(0) if finish.beta else None
        value = multiply(a, b) * given.pop(0) * given.pop(0)
        scales = len(given) - finish.bias
        c_scale = given.pop(0) if scales == 2 else 1.0
        d_scale = given.pop(0 if scales == 2 else -1) if scales else 1.0
        if c is not None:
            value = value + finish.beta * c.astype(value.dtype) * c_scale
        activated, _ = finish.activate(value, given)
        maximum = [jnp.max(jnp.abs(activated))] if with_maximum else []
        return [saturated(activated * d_scale, result), *maximum]

    return run


def product_mx(call: Call) -> Function:
    """`__cublas$lt$matmul$mx`: A, B and a scale for each block of either."""
    settings = call.settings("gemm_backend_config")
    return scaled_product(dot_dimensions(settings.get("dot_dimension_numbers", {})), call)


def _scaled(call: Call, settings: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """alpha * A . B in a type that loses nothing."""
    numbers = dot_dimensions(settings.get("dot_dimension_numbers", {}))
    kept = accumulator(*(dtype_of(shape) for shape in (*call.operands[:2], call.results[0])))
    real, imaginary = float(settings.get("alpha_real", 0)), float(settings.get("alpha_imag", 0))
    alpha = complex(real, imaginary) if kept.kind == "c" else real
    if kept.kind == "i":
        alpha = int(real)
    return lambda a, b: dot(a, b, numbers, kept) * alpha


class _Epilogue:
    """What is done to the product."""

    def __init__(self, call: Call, settings: dict[str, Any]) -> None:
        named = settings.get("epilogue", 0)
        name = _EPILOGUES[named] if isinstance(named, int) and named < len(_EPILOGUES) else str(named)
        words = name.split("_")
        self.bias = "BIAS" in words
        self.auxiliary = "AUX" in words
        self.beta: Any = float(settings.get("beta", 0))
        if dtype_of(call.results[0]).kind == "i":
            self.beta = int(self.beta)
        kinds = [word for word in words if word not in ("BIAS", "AUX", "DEFAULT")]
        activation = _ACTIVATIONS.get(kinds[0] if kinds else "")
        if activation is None or len(kinds) > 1:
            raise Unsupported(f"the epilogue {name} is not known")
        self._activation = activation
        self._result = call.results[0]

    def activate(self, value: Any, given: list[Any]) -> tuple[Any, Any]:
        """The value with bias and activation, and as it was before the activation."""
        if self.bias:
            value = value + self._spread(given.pop(0).astype(value.dtype))
        return self._activation(value), value

    def _spread(self, bias: Any) -> Any:
        """The bias over the columns: the dimensions of the result that are next to each other in memory."""
        from jax import lax

        order = arrays.minor_to_major(self._result)
        dims = [order[i] for i in range(bias.ndim)][::-1]
        return lax.broadcast_in_dim(bias, tuple(self._result.dimensions), dims)


def _relu(value: Any) -> Any:
    import jax.numpy as jnp

    return jnp.maximum(value, 0)


def _gelu(value: Any) -> Any:
    import jax

    return jax.nn.gelu(value, approximate=True)


def _silu(value: Any) -> Any:
    import jax

    return jax.nn.silu(value)


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "": lambda value: value,
    "RELU": _relu,
    "GELU": _gelu,
    "SILU": _silu,
}
