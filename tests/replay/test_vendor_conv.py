"""Convolutions of cuDNN and oneDNN give what JAX's own convolution and its gradients give."""

from __future__ import annotations

import json
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from tests.replay.running import call_text, run_text

E4M3 = ml_dtypes.float8_e4m3fn

# strides, padding, filter dilation, groups
GEOMETRIES = [
    ((1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((2, 1), ((1, 1), (0, 2)), (1, 1), 1),
    ((3, 2), ((2, 1), (1, 1)), (1, 2), 1),
    ((1, 2), ((1, 0), (2, 2)), (2, 1), 2),
    ((2, 3), ((0, 1), (1, 0)), (1, 1), 4),
]
LAYOUTS = {"bf01_oi01->bf01": ("NCHW", "OIHW", "NCHW"), "b01f_01io->b01f": ("NHWC", "HWIO", "NHWC")}
IN, OUT, SIZE, FILTER = 4, 8, (9, 11), (3, 2)


def normal(*dims: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(dims)).normal(size=dims).astype(np.float32)


def arrange(spec: str, **sizes: int) -> tuple[int, ...]:
    return tuple(sizes[letter] for letter in spec)


class Case:
    """A forward convolution by JAX, with the text of its window."""

    def __init__(self, geometry: Any, labels: str) -> None:
        strides, padding, dilation, groups = geometry
        self.labels, self.groups = labels, groups
        self.x_spec, self.w_spec, self.y_spec = LAYOUTS[labels]
        height, width = SIZE
        self.x = normal(*arrange(self.x_spec, N=2, C=IN, H=height, W=width))
        self.w = normal(*arrange(self.w_spec, O=OUT, I=IN // groups, H=FILTER[0], W=FILTER[1]))

        def forward(x: Any, w: Any) -> Any:
            return lax.conv_general_dilated(
                x, w, strides, padding, rhs_dilation=dilation, dimension_numbers=LAYOUTS[labels],
                feature_group_count=groups,
            )  # fmt: skip

        self.forward = forward
        self.y = np.asarray(forward(self.x, self.w))
        self.window = (
            f"window={{size={FILTER[0]}x{FILTER[1]} stride={strides[0]}x{strides[1]} "
            f"pad={padding[0][0]}_{padding[0][1]}x{padding[1][0]}_{padding[1][1]} "
            f"rhs_dilate={dilation[0]}x{dilation[1]}}}"
        )
        self.fields = f"{self.window}, dim_labels={labels}" + (
            f", feature_group_count={groups}" if groups > 1 else ""
        )


def shape(array: np.ndarray) -> str:
    names = {"float32": "f32", "float16": "f16", "int8": "s8", "float8_e4m3fn": "f8e4m3fn"}
    return f"{names[array.dtype.name]}[{','.join(map(str, array.shape))}]"


def config(**settings: Any) -> str:
    inner = {"conv_result_scale": 1, "activation_mode": "kNone", "side_input_scale": 0} | settings
    return json.dumps({"operation_queue_id": "0", "cudnn_conv_backend_config": inner})


@pytest.fixture(params=range(len(GEOMETRIES)))
def geometry(request: pytest.FixtureRequest) -> Any:
    return GEOMETRIES[request.param]


@pytest.mark.parametrize("labels", LAYOUTS)
class TestCudnn:
    def test_forward(self, backend: xla.Backend, geometry: Any, labels: str) -> None:
        case = Case(geometry, labels)
        text = call_text(
            "__cudnn$convForward", [shape(case.x), shape(case.w)], f"({shape(case.y)}, u8[1024])",
            config(conv_result_scale=0.5), case.fields,
        )  # fmt: skip
        result, scratch = run_text(backend, text, case.x, case.w)
        np.testing.assert_allclose(result, 0.5 * case.y, rtol=1e-4, atol=1e-4)
        assert not scratch.any()

    def test_the_gradient_of_the_input(self, backend: xla.Backend, geometry: Any, labels: str) -> None:
        case = Case(geometry, labels)
        gradient = normal(*case.y.shape, seed=5)
        _, backwards = jax.vjp(case.forward, case.x, case.w)
        text = call_text(
            "__cudnn$convBackwardInput", [shape(case.y), shape(case.w)], f"({shape(case.x)}, u8[0])",
            config(), case.fields,
        )  # fmt: skip
        result, _ = run_text(backend, text, gradient, case.w)
        np.testing.assert_allclose(result, backwards(gradient)[0], rtol=1e-4, atol=1e-4)

    def test_the_gradient_of_the_filter(self, backend: xla.Backend, geometry: Any, labels: str) -> None:
        case = Case(geometry, labels)
        gradient = normal(*case.y.shape, seed=5)
        _, backwards = jax.vjp(case.forward, case.x, case.w)
        text = call_text(
            "__cudnn$convBackwardFilter", [shape(case.x), shape(case.y)], f"({shape(case.w)}, u8[0])",
            config(), case.fields,
        )  # fmt: skip
        result, _ = run_text(backend, text, case.x, gradient)
        np.testing.assert_allclose(result, backwards(gradient)[1], rtol=1e-4, atol=1e-3)


def spread(bias: np.ndarray) -> np.ndarray:
    return bias[None, :, None, None]


ACTIVATIONS = {
    "kNone": lambda x: x,
    "kRelu": lambda x: np.maximum(x, 0),
    "kRelu6": lambda x: np.clip(x, 0, 6),
    "kElu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "kLeakyRelu": lambda x: np.where(x > 0, x, 0.25 * x),
    "kTanh": np.tanh,
    "kSigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "2": lambda x: np.maximum(x, 0),
}


@pytest.mark.parametrize("mode", ACTIVATIONS)
def test_bias_side_input_and_activation(backend: xla.Backend, mode: str) -> None:
    case = Case(GEOMETRIES[1], "bf01_oi01->bf01")
    bias, side = normal(OUT), normal(*case.y.shape, seed=3)
    settings = config(conv_result_scale=2.0, side_input_scale=0.5, activation_mode=mode, leakyrelu_alpha=0.25)
    text = call_text(
        "__cudnn$convBiasActivationForward", [shape(case.x), shape(case.w), f"f32[{OUT}]", shape(case.y)],
        f"({shape(case.y)}, u8[0])", settings, case.fields,
    )  # fmt: skip
    result, _ = run_text(backend, text, case.x, case.w, bias, side)
    expected = ACTIVATIONS[mode](2 * case.y + 0.5 * side + spread(bias))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_bytes_are_rounded_and_clamped(backend: xla.Backend) -> None:
    x = np.random.default_rng(0).integers(-20, 20, (1, 2, 5, 5)).astype(np.int8)
    w = np.random.default_rng(1).integers(-20, 20, (3, 2, 3, 3)).astype(np.int8)
    exact = np.asarray(lax.conv(x.astype(np.float64), w.astype(np.float64), (1, 1), "VALID"))
    text = call_text(
        "__cudnn$convBiasActivationForward", [shape(x), shape(w), "f32[3]"], "(s8[1,3,3,3], u8[0])",
        config(conv_result_scale=0.1), "window={size=3x3}, dim_labels=bf01_oi01->bf01",
    )  # fmt: skip
    bias = np.array([0.0, 300.0, -300.0], np.float32)
    result, _ = run_text(backend, text, x, w, bias)
    np.testing.assert_array_equal(result, np.clip(np.rint(exact * 0.1 + spread(bias)), -128, 127))


def test_a_window_that_turns_the_filter_round(backend: xla.Backend) -> None:
    x, w = normal(1, 2, 6, 6), normal(3, 2, 3, 3)
    fields = "window={size=3x3 rhs_reversal=1x1}, dim_labels=bf01_oi01->bf01"
    text = call_text("__cudnn$convForward", [shape(x), shape(w)], "(f32[1,3,4,4], u8[0])", config(), fields)
    expected = lax.conv(x, w[:, :, ::-1, ::-1], (1, 1), "VALID")
    np.testing.assert_allclose(run_text(backend, text, x, w)[0], expected, rtol=1e-4, atol=1e-5)


def test_the_steps_of_a_serialized_graph(backend: xla.Backend) -> None:
    """A scaled f8 convolution with something added, relu, its maximum, and a narrow result."""
    x, w = normal(1, 4, 6, 6).astype(E4M3), normal(8, 4, 3, 3).astype(E4M3)
    added = normal(1, 8, 4, 4)
    graph = (
        "12:[f32]conv();14:[f32]scale(12);15:[f32]invscale(14);17:[f32]add(15);19:[f32]relu(17);"
        "21:[f32]amax(19);23:[f8e4m3fn]scale(19);"
    )
    text = call_text(
        "__cudnn$convForwardGraph", [shape(x), shape(w), "f32[]", "f32[]", shape(added), "f32[]"],
        "(f8e4m3fn[1,8,4,4], f32[], u8[0])", config(serialized_graph=graph),
        "window={size=3x3}, dim_labels=bf01_oi01->bf01",
    )  # fmt: skip
    result, maximum, _ = run_text(backend, text, x, w, np.float32(3), np.float32(2), added, np.float32(100))
    exact = np.asarray(lax.conv(x.astype(np.float32), w.astype(np.float32), (1, 1), "VALID"))
    before = np.maximum(exact * 3 / 2 + added, 0)
    assert float(maximum) == pytest.approx(before.max(), rel=1e-5)
    expected = np.minimum(before * 100, 448).astype(E4M3).astype(np.float32)
    np.testing.assert_allclose(result.astype(np.float32), expected, rtol=2**-3)


def test_vectors_of_channels_are_not_guessed_at(backend: xla.Backend) -> None:
    from hlo_tui.replay.lowering import Cannot

    text = call_text(
        "__cudnn$convForward", ["s8[1,2,6,6,4]", "s8[8,2,3,3,4]"], "(f32[1,8,4,4], u8[0])", config(),
        "window={size=3x3}, dim_labels=bf01?_oi01?->bf01",
    )  # fmt: skip
    with pytest.raises(Cannot, match="vectors of channels"):
        run_text(backend, text)


def test_onednn_with_bias_and_relu(backend: xla.Backend, geometry: Any) -> None:
    strides, padding, dilation, groups = geometry
    case = Case(geometry, "b01f_01io->b01f")
    bias = normal(OUT)
    # As XLA writes it: window and spatial dimensions one too large.
    settings = {
        "dims": 4,
        "input": {"data": {"batch_dim": "0", "feature_dim": "3", "spatial_dims": ["2", "3"]}},
        "kernel": {
            "filter": {"input_feature_dim": "2", "output_feature_dim": "3", "spatial_dims": ["1", "2"]}
        },
        "output": {"data": {"batch_dim": "0", "feature_dim": "3", "spatial_dims": ["2", "3"]}},
        "window": {
            "pad_left": [str(low + 1) for low, _ in padding],
            "pad_right": [str(high + 1) for _, high in padding],
            "strides": [str(n + 1) for n in strides],
            "window_dilations": [str(n + 1) for n in dilation],
        },
        "fusions": {"ops": ["BIAS", "RELU"]},
        "feature_groups": str(groups),
    }
    text = call_text(
        "__onednn$convolution", [shape(case.x), shape(case.w), f"f32[{OUT}]"], shape(case.y),
        json.dumps({"onednn_conv_config": settings}),
    )  # fmt: skip
    result = run_text(backend, text, case.x, case.w, bias)
    np.testing.assert_allclose(result, np.maximum(case.y + bias, 0), rtol=1e-4, atol=1e-4)


def test_a_window_proto_may_leave_out_what_is_one(backend: xla.Backend) -> None:
    """A proto of another writer has 0 for a dilation it does not mention."""
    from hlo_tui.replay.cudnn import forward
    from hlo_tui.replay.traced import Call

    proto = pb.HloInstructionProto(opcode="custom-call")
    proto.shape.CopyFrom(pb.ShapeProto(element_type=pb.F32, dimensions=[1, 1, 2, 2]))
    proto.window.dimensions.add(size=2)
    proto.window.dimensions.add(size=2)
    numbers = proto.convolution_dimension_numbers
    numbers.input_feature_dimension = numbers.output_feature_dimension = 1
    numbers.kernel_input_feature_dimension = 1
    for spatial in (2, 3):
        numbers.input_spatial_dimensions.append(spatial)
        numbers.kernel_spatial_dimensions.append(spatial)
        numbers.output_spatial_dimensions.append(spatial)
    shapes = tuple(
        pb.ShapeProto(element_type=pb.F32, dimensions=dims) for dims in ([1, 1, 3, 3], [1, 1, 2, 2])
    )
    x, w = normal(1, 1, 3, 3), normal(1, 1, 2, 2)
    (result,) = forward(Call(proto, shapes))(x, w)
    np.testing.assert_allclose(result, lax.conv(x, w, (1, 1), "VALID"), rtol=1e-5)
