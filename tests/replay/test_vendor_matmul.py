"""Matrix products of other backends give what numpy computes from their documented formulas."""

from __future__ import annotations

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.limits import value_bytes
from tests.replay.running import call_text, program_of, run_text

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
E8M0, E2M1 = ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn


def numbers(left: int, right: int, batch: tuple[int, ...] = ()) -> dict[str, Any]:
    """Dot dimension numbers as XLA's JSON has them: 64-bit numbers are strings."""
    return {
        "lhs_contracting_dimensions": [str(left)],
        "rhs_contracting_dimensions": [str(right)],
        "lhs_batch_dimensions": [str(b) for b in batch],
        "rhs_batch_dimensions": [str(b) for b in batch],
    }


def gemm(dims: dict[str, Any], **settings: Any) -> str:
    inner = {
        "alpha_real": 1,
        "alpha_imag": 0,
        "beta": 0,
        "dot_dimension_numbers": dims,
        "epilogue": "DEFAULT",
    }
    return json.dumps({"operation_queue_id": "0", "gemm_backend_config": inner | settings})


def normal(*dims: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(dims)).normal(size=dims).astype(np.float32)


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


EPILOGUES = {
    "DEFAULT": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0),
    "GELU": gelu,
    "SILU": lambda x: x / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("target", ["__cublas$gemm", "__cublas$lt$matmul"])
def test_alpha_and_beta_scale_the_product_and_what_is_added(backend: xla.Backend, target: str) -> None:
    a, b, c = normal(4, 5), normal(5, 3), normal(4, 3)
    text = call_text(
        target, ["f32[4,5]", "f32[5,3]", "f32[4,3]"], "(f32[4,3], s8[4194304])",
        gemm(numbers(1, 0), alpha_real=0.25, beta=-2.0),
    )  # fmt: skip
    result, scratch = run_text(backend, text, a, b, c)
    np.testing.assert_allclose(result, 0.25 * a @ b - 2 * c, rtol=1e-5, atol=1e-6)
    assert (scratch.shape, scratch.strides) == ((4194304,), (0,))


def test_a_plain_result_and_the_older_flat_config(backend: xla.Backend) -> None:
    a, b = normal(5, 4), normal(3, 5)
    config = json.dumps({"alpha_real": 1, "alpha_imag": 0, "beta": 0, "dot_dimension_numbers": numbers(0, 1)})
    text = call_text("__cublas$gemm", ["f32[5,4]", "f32[3,5]"], "f32[4,3]", config)
    np.testing.assert_allclose(run_text(backend, text, a, b), a.T @ b.T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", EPILOGUES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("beta", [0, 1])
def test_epilogues(backend: xla.Backend, activation: str, bias: bool, beta: int) -> None:
    a, b, c, d = normal(4, 5), normal(5, 3), normal(4, 3), normal(3)
    shapes, given = ["f32[4,5]", "f32[5,3]"], [a, b]
    expected = a @ b
    if beta:
        shapes, given, expected = [*shapes, "f32[4,3]"], [*given, c], expected + c
    if bias:
        shapes, given, expected = [*shapes, "f32[3]"], [*given, d], expected + d
    words = (["BIAS"] if bias else []) + ([activation] if activation != "DEFAULT" else [])
    config = gemm(numbers(1, 0), beta=beta, epilogue="_".join(words) or "DEFAULT")
    result = run_text(backend, call_text("__cublas$lt$matmul", shapes, "f32[4,3]", config), *given)
    np.testing.assert_allclose(result, EPILOGUES[activation](expected), rtol=1e-4, atol=1e-5)


def test_the_auxiliary_output_is_what_goes_into_the_activation(backend: xla.Backend) -> None:
    a, b, d = normal(4, 5), normal(5, 3), normal(3)
    config = gemm(numbers(1, 0), epilogue="BIAS_GELU_AUX")
    text = call_text(
        "__cublas$lt$matmul", ["f32[4,5]", "f32[5,3]", "f32[3]"], "(f32[4,3], f32[4,3], s8[64])", config
    )
    result, before, _ = run_text(backend, text, a, b, d)
    np.testing.assert_allclose(before, a @ b + d, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result, gelu(a @ b + d), rtol=1e-4, atol=1e-5)


def test_the_bias_of_a_column_major_result_runs_down_the_columns(backend: xla.Backend) -> None:
    a, b, d = normal(4, 5), normal(5, 3), normal(4)
    text = call_text(
        "__cublas$lt$matmul", ["f32[4,5]", "f32[5,3]", "f32[4]"], "f32[4,3]{0,1}",
        gemm(numbers(1, 0), epilogue="BIAS"),
    )  # fmt: skip
    np.testing.assert_allclose(run_text(backend, text, a, b, d), a @ b + d[:, None], rtol=1e-5, atol=1e-6)


def test_batches(backend: xla.Backend) -> None:
    a, b = normal(2, 6, 4, 5), normal(2, 6, 3, 5)
    text = call_text(
        "__cublas$gemm", ["f32[2,6,4,5]", "f32[2,6,3,5]"], "f32[2,6,4,3]", gemm(numbers(3, 3, (0, 1)))
    )
    expected = np.einsum("xyik,xyjk->xyij", a, b)
    np.testing.assert_allclose(run_text(backend, text, a, b), expected, rtol=1e-5, atol=1e-5)


def test_narrow_types_are_summed_up_in_a_wide_one(backend: xla.Backend) -> None:
    a, b = normal(8, 512).astype(BF16), normal(512, 8).astype(BF16)
    text = call_text("__cublas$gemm", ["bf16[8,512]", "bf16[512,8]"], "bf16[8,8]", gemm(numbers(1, 0)))
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    result = run_text(backend, text, a, b)
    assert result.dtype == BF16
    np.testing.assert_allclose(result.astype(np.float32), exact, rtol=2**-8, atol=1e-5)


def test_integers(backend: xla.Backend) -> None:
    a = np.random.default_rng(0).integers(-128, 128, (4, 300)).astype(np.int8)
    b = np.random.default_rng(1).integers(-128, 128, (300, 3)).astype(np.int8)
    text = call_text("__cublas$gemm", ["s8[4,300]", "s8[300,3]"], "s32[4,3]", gemm(numbers(1, 0)))
    np.testing.assert_array_equal(run_text(backend, text, a, b), a.astype(np.int32) @ b.astype(np.int32))


def test_a_complex_alpha(backend: xla.Backend) -> None:
    a, b = normal(4, 5) + 1j * normal(4, 5, seed=1), normal(5, 3) - 1j * normal(5, 3, seed=1)
    a, b = a.astype(np.complex64), b.astype(np.complex64)
    config = gemm(numbers(1, 0), alpha_real=0.5, alpha_imag=-1.5)
    text = call_text("__cublas$gemm", ["c64[4,5]", "c64[5,3]"], "c64[4,3]", config)
    np.testing.assert_allclose(run_text(backend, text, a, b), (0.5 - 1.5j) * (a @ b), rtol=1e-5, atol=1e-5)


class TestEightBits:
    """D = clamp(scale_d * activation(scale_a * scale_b * A . B + C + bias))."""

    a, b = normal(16, 32).astype(E4M3), normal(16, 32, seed=3).astype(E5M2)
    scales = (np.float32(2.0), np.float32(0.5), np.float32(3.0))
    exact = 2.0 * 0.5 * (a.astype(np.float64) @ b.astype(np.float64).T)

    def test_scales_and_a_wide_result(self, backend: xla.Backend) -> None:
        text = call_text(
            "__cublas$lt$matmul$f8", ["f8e4m3fn[16,32]", "f8e5m2[16,32]", "f32[]", "f32[]"],
            "(f32[16,16], s8[64])", gemm(numbers(1, 1)),
        )  # fmt: skip
        result, _ = run_text(backend, text, self.a, self.b, *self.scales[:2])
        np.testing.assert_allclose(result, self.exact, rtol=1e-5, atol=1e-5)

    def test_a_narrow_result_with_its_scale_and_maximum(self, backend: xla.Backend) -> None:
        text = call_text(
            "__cublas$lt$matmul$f8", ["f8e4m3fn[16,32]", "f8e5m2[16,32]", "f32[]", "f32[]", "f32[]"],
            "(f8e4m3fn[16,16], f32[], s8[64])", gemm(numbers(1, 1), damax_output=True),
        )  # fmt: skip
        result, maximum, _ = run_text(backend, text, self.a, self.b, *self.scales[:2], np.float32(100))
        assert np.abs(self.exact * 100).max() > 448
        expected = np.clip(self.exact * 100, -448, 448).astype(np.float32)
        np.testing.assert_allclose(result.astype(np.float32), expected, rtol=2**-3)
        assert float(maximum) == pytest.approx(np.abs(self.exact).max(), rel=1e-5)

    def test_matrix_bias_vector_bias_and_activation(self, backend: xla.Backend) -> None:
        c, d = normal(16, 16).astype(BF16), normal(16).astype(BF16)
        text = call_text(
            "__cublas$lt$matmul$f8",
            ["f8e4m3fn[16,32]", "f8e5m2[16,32]", "bf16[16,16]", "f32[]", "f32[]", "bf16[16]"],
            "(bf16[16,16], s8[64])", gemm(numbers(1, 1), beta=1, epilogue="BIAS_RELU"),
        )  # fmt: skip
        result, _ = run_text(backend, text, self.a, self.b, c, *self.scales[:2], d)
        expected = np.maximum(self.exact + c.astype(np.float64) + d.astype(np.float64), 0)
        np.testing.assert_allclose(result.astype(np.float32), expected, rtol=2**-7, atol=1e-3)

    def test_the_older_four_scales(self, backend: xla.Backend) -> None:
        d = normal(16).astype(np.float16)
        text = call_text(
            "__cublas$lt$matmul$f8",
            ["f8e4m3fn[16,32]", "f8e5m2[16,32]", "f32[]", "f32[]", "f32[]", "f32[]", "f16[16]"],
            "(f16[16,16], s8[64])", gemm(numbers(1, 1), epilogue="BIAS"),
        )  # fmt: skip
        one = np.float32(1)
        result, _ = run_text(backend, text, self.a, self.b, *self.scales[:2], one, self.scales[2], d)
        expected = (self.exact + d.astype(np.float64)) * 3.0
        np.testing.assert_allclose(result.astype(np.float32), expected, rtol=1e-3, atol=1e-3)


def blocks(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Elements times their block's scale, element by element."""
    wide = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        block = tuple(p * s // n for p, s, n in zip(place, scale.shape, x.shape, strict=True))
        wide[place] = float(x[place]) * float(scale[block])
    return wide


class TestBlockScales:
    a = normal(3, 64).astype(E4M3)
    b = normal(5, 64, seed=2).astype(E5M2)
    a_scale = (2.0 ** np.arange(6).reshape(3, 2)).astype(E8M0)
    b_scale = (2.0 ** -np.arange(10).reshape(5, 2)).astype(E8M0)

    @pytest.mark.parametrize("target", ["__cublas$lt$matmul$mx", "__op$block_scaled_dot", ""])
    def test_a_scale_for_each_block_of_32(self, backend: xla.Backend, target: str) -> None:
        shapes = ["f8e4m3fn[3,64]", "f8e5m2[5,64]", "f8e8m0fnu[3,2]", "f8e8m0fnu[5,2]"]
        fields = "" if target else "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
        config = gemm(numbers(1, 1)) if "cublas" in target else ""
        text = call_text(target, shapes, "f32[3,5]", config, fields, "" if target else "scaled-dot")
        result = run_text(backend, text, self.a, self.b, self.a_scale, self.b_scale)
        expected = blocks(self.a, self.a_scale) @ blocks(self.b, self.b_scale).T
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-4)

    def test_padded_scales_and_a_global_one(self, backend: xla.Backend) -> None:
        a, b = normal(3, 32).astype(E2M1), normal(5, 32, seed=4).astype(E2M1)
        a_scale = normal(4, 4).astype(E4M3)
        b_scale = normal(8, 4).astype(E4M3)
        shapes = ["f4e2m1fn[3,32]", "f4e2m1fn[5,32]", "f8e4m3fn[4,4]", "f8e4m3fn[8,4]", "f32[]"]
        config = json.dumps({"block_scaled_dot_backend_config": {"block_size": "16"}})
        text = call_text("__op$block_scaled_dot", shapes, "f32[3,5]", config)
        result = run_text(backend, text, a, b, a_scale, b_scale, np.float32(0.5))
        expected = 0.5 * blocks(a, a_scale[:3, :2]) @ blocks(b, b_scale[:5, :2]).T
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-4)

    def test_quantized_and_back(self, backend: xla.Backend) -> None:
        x = normal(4, 64)
        text = call_text("__op$quantize", ["f32[4,64]"], "(f8e4m3fn[4,64], f8e8m0fnu[4,2])")
        quantized, scale = run_text(backend, text, x)
        largest = np.abs(x.reshape(4, 2, 32)).max(axis=-1)
        # The greatest power of two in f8e4m3fn is 256.
        np.testing.assert_array_equal(
            scale.astype(np.float32), (largest / 256).astype(E8M0).astype(np.float32)
        )
        back = call_text("__op$dequantize", ["f8e4m3fn[4,64]", "f8e8m0fnu[4,2]"], "f32[4,64]")
        np.testing.assert_allclose(run_text(backend, back, quantized, scale), blocks(quantized, scale))
        np.testing.assert_allclose(blocks(quantized, scale), x, rtol=2**-3, atol=2**-8)


class TestRagged:
    sizes = np.array([2, 0, 5], np.int32)
    ends = np.cumsum(sizes)

    def test_ragged_rows(self, backend: xla.Backend) -> None:
        a, b = normal(8, 4), normal(3, 4, 6)
        fields = "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"
        text = call_text("", ["f32[8,4]", "f32[3,4,6]", "s32[3]"], "f32[8,6]", "", fields, "ragged-dot")
        expected = np.zeros((8, 6), np.float32)
        for group, end in enumerate(self.ends):
            rows = slice(end - self.sizes[group], end)
            expected[rows] = a[rows] @ b[group]
        np.testing.assert_allclose(run_text(backend, text, a, b, self.sizes), expected, rtol=1e-5, atol=1e-5)

    def test_ragged_sums(self, backend: xla.Backend) -> None:
        a, b = normal(4, 8), normal(8, 6)
        fields = "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}"
        text = call_text("", ["f32[4,8]", "f32[8,6]", "s32[3]"], "f32[3,4,6]", "", fields, "ragged-dot")
        expected = [
            a[:, end - n : end] @ b[end - n : end] for n, end in zip(self.sizes, self.ends, strict=True)
        ]
        np.testing.assert_allclose(run_text(backend, text, a, b, self.sizes), expected, rtol=1e-5, atol=1e-5)


class TestOneDnn:
    def test_transposed_operands_and_fused_operations(self, backend: xla.Backend) -> None:
        a, b, bias, other = normal(2, 5, 4), normal(2, 3, 5), normal(3), normal(2, 4, 3)
        half = int(np.float32(0.5).view(np.int32))
        config = json.dumps({"onednn_matmul_config": {
            "transpose_a": True, "transpose_b": True,
            "fusions": {"ops": ["BIAS", "LINEAR", "GELU_TANH", "BINARY_ADD"], "alpha_typecast": [half]},
        }})  # fmt: skip
        shapes = ["f32[2,5,4]", "f32[2,3,5]", "f32[3]", "f32[2,4,3]"]
        text = call_text("__onednn$matmul", shapes, "f32[2,4,3]", config)
        product = np.einsum("xki,xjk->xij", a, b) + bias
        result = run_text(backend, text, a, b, bias, other)
        np.testing.assert_allclose(result, gelu(0.5 * product) + other, rtol=1e-4, atol=1e-5)

    def test_a_transposed_result(self, backend: xla.Backend) -> None:
        a, b = normal(2, 3, 4, 5), normal(2, 3, 5, 6)
        config = json.dumps(
            {"onednn_matmul_config": {"result": {"tensor": {"dimensions": ["1", "3", "2", "4"]}}}}
        )
        text = call_text("__onednn$matmul", ["f32[2,3,4,5]", "f32[2,3,5,6]"], "f32[2,4,3,6]", config)
        expected = (a @ b).transpose(0, 2, 1, 3)
        np.testing.assert_allclose(run_text(backend, text, a, b), expected, rtol=1e-5, atol=1e-5)

    def test_layer_norm(self, backend: xla.Backend) -> None:
        x, scale, shift = normal(3, 7), normal(7), normal(7, seed=1)
        epsilon = np.float32(1e-3)
        config = json.dumps({"onednn_layer_norm_config": {
            "rescale": "SCALE_AND_SHIFT", "epsilon_typecast": int(epsilon.view(np.int32))
        }})  # fmt: skip
        text = call_text("__onednn$layernorm", ["f32[3,7]", "f32[7]", "f32[7]"], "f32[3,7]", config)
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        expected = (x - mean) / np.sqrt(variance + epsilon) * scale + shift
        np.testing.assert_allclose(run_text(backend, text, x, scale, shift), expected, rtol=1e-4, atol=1e-5)

    def test_softmax(self, backend: xla.Backend) -> None:
        x = normal(3, 7)
        config = json.dumps({"onednn_softmax_config": {"softmax_axis": 1}})
        text = call_text("__onednn$softmax", ["f32[3,7]"], "f32[3,7]", config)
        expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
        np.testing.assert_allclose(run_text(backend, text, x), expected, rtol=1e-5)


def test_the_memory_of_a_library_is_not_counted() -> None:
    text = call_text(
        "__cublas$gemm", ["f32[4,5]", "f32[5,3]"], "(f32[4,3], s8[67108864])", gemm(numbers(1, 0))
    )
    entry = program_of(text).entry
    assert value_bytes(entry.ops[entry.root]) == 4 * 4 * 3
