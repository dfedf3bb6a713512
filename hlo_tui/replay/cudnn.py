"""What the convolutions of cuDNN and MIOpen mean: a forward convolution with what is fused to it, or one of its two
gradients. Window and dimension numbers are always those of the forward convolution.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hlo_tui.replay.dotting import saturated
from hlo_tui.replay.traced import Call, Function, Unsupported, dtype_of

_ACTIVATION_NAMES = (
    "kNone", "kSigmoid", "kRelu", "kRelu6", "kReluX", "kTanh", "kBandPass", "kElu", "kLeakyRelu",
    "kGeluExact",
)  # fmt: skip


def forward(call: Call) -> Function:
    """`__cudnn$convForward`: input, filter."""
    convolution, scale = _Convolution(call), _scale(_settings(call))
    result = dtype_of(call.results[0])
    return lambda x, w: [saturated(convolution.forward(x, w) * scale, result)]


def bias_activation(call: Call) -> Function:
    """`__cudnn$convBiasActivationForward`: input, filter, bias, and perhaps something to add.

    activation(scale * conv(input, filter) + side_scale * side + bias)
    """
    settings = _settings(call)
    convolution, scale = _Convolution(call), _scale(settings)
    side_scale = float(settings.get("side_input_scale", 0))
    activation = _activation(settings)
    result = dtype_of(call.results[0])
    feature = call.proto.convolution_dimension_numbers.output_feature_dimension

    def run(x: Any, w: Any, bias: Any, side: Any = None) -> Sequence[Any]:
        from jax import lax

        value = convolution.forward(x, w) * scale
        if side is not None:
            value = value + side.astype(value.dtype) * side_scale
        value = value + lax.broadcast_in_dim(bias.astype(value.dtype), value.shape, (feature,))
        return [saturated(activation(value), result)]

    return run


def backward_input(call: Call) -> Function:
    """`__cudnn$convBackwardInput`: the gradient of the output and the filter give that of the input."""
    convolution, scale = _Convolution(call), _scale(_settings(call))
    result = call.results[0]

    def run(gradient: Any, w: Any) -> Sequence[Any]:
        dx = convolution.backward_input(gradient, w, tuple(result.dimensions))
        return [saturated(dx * scale, dtype_of(result))]

    return run


def backward_filter(call: Call) -> Function:
    """`__cudnn$convBackwardFilter`: the input and the gradient of the output give that of the filter."""
    convolution, scale = _Convolution(call), _scale(_settings(call))
    result = call.results[0]

    def run(x: Any, gradient: Any) -> Sequence[Any]:
        dw = convolution.backward_filter(x, gradient, tuple(result.dimensions))
        return [saturated(dw * scale, dtype_of(result))]

    return run


def forward_graph(call: Call) -> Function:
    """`__cudnn$convForwardGraph`: input, filter, and what the steps of the serialized graph take besides."""
    settings = _settings(call)
    convolution, scale = _Convolution(call), _scale(settings)
    steps = _read_graph(str(settings.get("serialized_graph", "")))

    def run(x: Any, w: Any, *rest: Any) -> Sequence[Any]:
        import jax.numpy as jnp

        given = list(rest)
        values = {steps[0].uid: saturated(convolution.forward(x, w) * scale, steps[0].dtype)}
        final, maxima = values[steps[0].uid], []
        for step in steps[1:]:
            operands = [values[uid].astype(jnp.float32) for uid in step.operands]
            if len(operands) < _GRAPH_STEPS[step.name].takes:
                operands.append(given.pop(0).astype(jnp.float32))
            value = saturated(_GRAPH_STEPS[step.name].run(*operands), step.dtype)
            values[step.uid] = value
            if step.name == "amax":
                maxima.append(value)
            else:
                final = value
        return [final, *maxima]

    return run


class _Convolution:
    """A forward convolution and its gradients, by window and dimension numbers."""

    def __init__(self, call: Call) -> None:
        numbers = call.proto.convolution_dimension_numbers
        self._input = (
            numbers.input_batch_dimension, numbers.input_feature_dimension, *numbers.input_spatial_dimensions,
        )  # fmt: skip
        self._filter = (
            numbers.kernel_output_feature_dimension, numbers.kernel_input_feature_dimension,
            *numbers.kernel_spatial_dimensions,
        )  # fmt: skip
        self._output = (
            numbers.output_batch_dimension, numbers.output_feature_dimension,
            *numbers.output_spatial_dimensions,
        )  # fmt: skip
        if any(len(shape.dimensions) != len(self._input) for shape in call.operands[:2]):
            raise Unsupported("a convolution over vectors of channels, as int8 kernels take them")
        self._windows = list(call.proto.window.dimensions)
        self._groups = max(call.proto.feature_group_count, 1)
        self._kept = _kept(dtype_of(call.operands[0]))
        self._strides = [max(window.stride, 1) for window in self._windows]
        self._dilations = [max(window.window_dilation, 1) for window in self._windows]

    def forward(self, x: Any, w: Any) -> Any:
        """The convolution itself."""
        from jax import lax

        return lax.conv_general_dilated(
            x.astype(self._kept),
            self._turned(w.astype(self._kept), reverse=False),
            self._strides,
            [(window.padding_low, window.padding_high) for window in self._windows],
            [max(window.base_dilation, 1) for window in self._windows],
            self._dilations,
            lax.ConvDimensionNumbers(self._input, self._filter, self._output),
            self._groups,
        )

    def backward_input(self, gradient: Any, w: Any, dims: tuple[int, ...]) -> Any:
        """The gradient of the input: the output's, spread by the strides, against the filter turned round."""
        from jax import lax

        padding = []
        for i, window in enumerate(self._windows):
            reach = self._dilations[i] * (w.shape[self._filter[2 + i]] - 1)
            spread = (gradient.shape[self._output[2 + i]] - 1) * self._strides[i] + 1
            low = reach - window.padding_low
            padding.append((low, dims[self._input[2 + i]] + reach - spread - low))
        grouped = self._swap_features(self._turned(w.astype(self._kept), reverse=True))
        swapped = (self._filter[1], self._filter[0], *self._filter[2:])
        return lax.conv_general_dilated(
            gradient.astype(self._kept),
            grouped,
            [1] * len(self._windows),
            padding,
            self._strides,
            self._dilations,
            lax.ConvDimensionNumbers(self._output, swapped, self._input),
            self._groups,
        )

    def backward_filter(self, x: Any, gradient: Any, dims: tuple[int, ...]) -> Any:
        """The gradient of the filter: the input against the gradient of the output, batches summed up."""
        from jax import lax

        padding = []
        for i, window in enumerate(self._windows):
            reach = self._dilations[i] * (dims[self._filter[2 + i]] - 1)
            spread = (gradient.shape[self._output[2 + i]] - 1) * self._strides[i] + 1
            low = window.padding_low
            padding.append((low, reach + spread - x.shape[self._input[2 + i]] - low))
        dw = lax.conv_general_dilated(
            x.astype(self._kept),
            gradient.astype(self._kept),
            self._dilations,
            padding,
            [1] * len(self._windows),
            self._strides,
            lax.ConvDimensionNumbers(
                (self._input[1], self._input[0], *self._input[2:]),
                (self._output[1], self._output[0], *self._output[2:]),
                (self._filter[1], self._filter[0], *self._filter[2:]),
            ),
            1,
            self._groups,
        )
        return self._turned(dw, reverse=False)

    def _turned(self, w: Any, reverse: bool) -> Any:
        """The filter turned round in the dimensions where the window does not do so itself."""
        from jax import lax

        dims = [self._filter[2 + i] for i, window in enumerate(self._windows)
                if bool(window.window_reversal) != reverse]  # fmt: skip
        return lax.rev(w, dims) if dims else w

    def _swap_features(self, w: Any) -> Any:
        """The filter with the groups moved from the output features to the input features."""
        import jax.numpy as jnp

        if self._groups == 1:
            return w
        out, inside = self._filter[:2]
        parts = jnp.split(w, self._groups, axis=out)
        return jnp.concatenate(parts, axis=inside)


def _kept(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind in "iu":
        return np.dtype(np.int32)
    return dtype if dtype.kind == "c" or dtype == np.float64 else np.dtype(np.float32)


def _settings(call: Call) -> dict[str, Any]:
    return call.settings("cudnn_conv_backend_config")


def _scale(settings: dict[str, Any]) -> Any:
    if settings.get("reordered_int8_nchw_vect"):
        raise Unsupported("the filter was reordered for an int8 kernel")
    scale = float(settings.get("conv_result_scale", 0 if settings else 1))
    # A product with 1.0 would make floats of integers.
    return 1 if scale == 1 else scale


def _activation(settings: dict[str, Any]) -> Callable[[Any], Any]:
    import jax
    import jax.numpy as jnp

    named = str(settings.get("activation_mode", 0))
    name = _ACTIVATION_NAMES[int(named)] if named.isdigit() and int(named) < 10 else named
    slope = float(settings.get("leakyrelu_alpha", 0))
    known: dict[str, Callable[[Any], Any]] = {
        "kNone": lambda x: x,
        "kSigmoid": jax.nn.sigmoid,
        "kRelu": lambda x: jnp.maximum(x, 0),
        "kRelu6": lambda x: jnp.clip(x, 0, 6),
        "kTanh": jnp.tanh,
        "kElu": jax.nn.elu,
        "kLeakyRelu": lambda x: jnp.where(x > 0, x, slope * x),
        "kGeluExact": lambda x: jax.nn.gelu(x, approximate=False),
    }
    if name not in known:
        raise Unsupported(f"the activation {name} is not known")
    return known[name]


class _Step(NamedTuple):
    uid: str
    dtype: np.dtype[Any]
    name: str
    operands: list[str]


class _GraphStep(NamedTuple):
    takes: int
    run: Callable[..., Any]


def _elu(x: Any) -> Any:
    import jax

    return jax.nn.elu(x)


def _maximum(x: Any, y: Any) -> Any:
    import jax.numpy as jnp

    return jnp.maximum(x, y)


def _minimum(x: Any, y: Any) -> Any:
    import jax.numpy as jnp

    return jnp.minimum(x, y)


_GRAPH_STEPS = {
    "add": _GraphStep(2, lambda x, y: x + y),
    "scale": _GraphStep(2, lambda x, y: x * y),
    "invscale": _GraphStep(2, lambda x, y: x / y),
    "relu": _GraphStep(1, lambda x: _maximum(x, 0)),
    "elu": _GraphStep(1, _elu),
    "min": _GraphStep(2, _minimum),
    "max": _GraphStep(2, _maximum),
    "amax": _GraphStep(1, lambda x: abs(x).max()),
}
_STEP = re.compile(r"(\d+):\[(\w+)\](\w+)\(([\d,]*)\);")


def _read_graph(text: str) -> list[_Step]:
    """The steps of a serialized graph, `UID:[type]name(UIDs);` each; the convolution is the first."""
    from hlo_tui.replay.arrays import DTYPES, NAMES

    types = {name: DTYPES[number] for number, name in NAMES.items() if number in DTYPES}
    steps = []
    for uid, dtype, name, operands in _STEP.findall(text):
        if dtype not in types or (name not in _GRAPH_STEPS and name != "conv"):
            raise Unsupported(f"the step {name} of the convolution's graph is not known")
        steps.append(_Step(uid, types[dtype], name, [uid for uid in operands.split(",") if uid]))
    if not steps or steps[0].name != "conv" or "".join(m.group() for m in _STEP.finditer(text)) != text:
        raise Unsupported("the convolution's graph cannot be read")
    return steps
