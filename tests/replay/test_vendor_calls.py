"""Custom calls: sorts and selections, special functions, and what is never run."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.errors import EngineError
from hlo_tui.replay import xla
from hlo_tui.replay.customcalls import FOREIGN, REWRITES, is_callback
from hlo_tui.replay.lowering import RULES, Cannot, table
from hlo_tui.replay.opening import open_target
from tests.replay.running import call_text, run_text


class TestSelections:
    keys = np.array([[3, -1, 3, 0, -1], [7, 7, 2, 9, 0]], np.int32)
    values = np.arange(10, dtype=np.float32).reshape(2, 5)

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize(
        ("target", "config"),
        [
            ("__cub$DeviceRadixSort", '{{"descending": {}}}'),
            ("xla.gpu.ext.cub_sort_pairs", '"{{batch_size = 2 : i64, descending = {}}}"'),
        ],
    )
    def test_a_radix_sort_keeps_the_order_of_equal_keys(
        self, backend: xla.Backend, target: str, config: str, descending: bool
    ) -> None:
        text = call_text(
            target, ["s32[2,5]", "f32[2,5]"], "(s32[2,5], f32[2,5], u8[1000])",
            config.format(str(descending).lower()),
        )  # fmt: skip
        keys, values, _ = run_text(backend, text, self.keys, self.values)
        order = np.argsort(-self.keys if descending else self.keys, axis=1, kind="stable")
        np.testing.assert_array_equal(keys, np.take_along_axis(self.keys, order, 1))
        np.testing.assert_array_equal(values, np.take_along_axis(self.values, order, 1))

    def test_keys_alone(self, backend: xla.Backend) -> None:
        text = call_text("__cub$DeviceRadixSort", ["s32[2,5]"], "(s32[2,5], u8[64])", '{"descending": false}')
        keys, _ = run_text(backend, text, self.keys)
        np.testing.assert_array_equal(keys, np.sort(self.keys, axis=1))

    def test_the_largest_and_where_they_are(self, backend: xla.Backend) -> None:
        x = np.random.default_rng(0).permutation(40).reshape(4, 10).astype(np.float32)
        values, places = run_text(backend, call_text("__gpu$TopK", ["f32[4,10]"], "(f32[4,3], s32[4,3])"), x)
        order = np.argsort(-x, axis=1)[:, :3]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


COMPARING = """
HloModule m

greater {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT
}}

ENTRY e {{
  x = {t}[4,64] parameter(0)
  i = s32[4,64] iota(), iota_dimension=1
  z = {t}[] constant(-inf)
  n = s32[] constant(-1)
  ROOT r = {result} custom-call({operands}), custom_call_target="{target}", called_computations={{greater}}{config}
}}
"""
APPROXIMATE = ', backend_config={"top_k": 3, "reduction_dim": 1, "recall_target": 0.95, "log2_reduction": 1}'


class TestByComparison:
    x = np.random.default_rng(0).permutation(256).reshape(4, 64)
    order = np.argsort(-x, axis=1)

    @pytest.mark.parametrize("t", ["f32", "bf16", "f64"])
    def test_top_k_of_any_type(self, backend: xla.Backend, t: str) -> None:
        x = self.x.astype({"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f64": np.float64}[t])
        text = COMPARING.format(t=t, result=f"({t}[4,3], s32[4,3])", operands="x", target="TopK", config="")
        values, places = run_text(backend, text, x)
        np.testing.assert_array_equal(places, self.order[:, :3])
        np.testing.assert_array_equal(values, np.take_along_axis(x, self.order[:, :3], 1))

    @pytest.mark.parametrize(("target", "kept"), [("ApproxTopK", 3), ("PartialReduce", 32)])
    def test_an_approximate_selection_misses_nothing(
        self, backend: xla.Backend, target: str, kept: int
    ) -> None:
        x = self.x.astype(np.float32)
        text = COMPARING.format(
            t="f32", result=f"(f32[4,{kept}], s32[4,{kept}])", operands="x, i, z, n", target=target,
            config=APPROXIMATE,
        )  # fmt: skip
        values, places = run_text(backend, text, x)
        np.testing.assert_array_equal(places, self.order[:, :kept])
        np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))


FUNCTIONS = {
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1),
    "asinh": (np.arcsinh, -50, 50),
    "acosh": (np.arccosh, 1, 50),
    "atanh": (np.arctanh, -0.99, 0.99),
    "sinh": (np.sinh, -5, 5),
    "cosh": (np.cosh, -5, 5),
}


class TestFunctions:
    @pytest.mark.parametrize("dtype", ["f32", "f64"])
    @pytest.mark.parametrize("opcode", FUNCTIONS)
    def test_opcodes_without_code_of_their_own(self, backend: xla.Backend, opcode: str, dtype: str) -> None:
        function, low, high = FUNCTIONS[opcode]
        x = np.linspace(low, high, 33).astype({"f32": np.float32, "f64": np.float64}[dtype])
        text = call_text("", [f"{dtype}[33]"], f"{dtype}[33]", opcode=opcode, fields="metadata={}")
        tolerance = 1e-6 if dtype == "f32" else 1e-14
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(run_text(backend, text, x), expected, rtol=4 * tolerance, atol=tolerance)

    @pytest.mark.parametrize(("name", "function"), [("Acos", np.arccos), ("Atan", np.arctan)])
    def test_the_client_library_by_name(self, backend: xla.Backend, name: str, function: np.ufunc) -> None:
        x = (np.linspace(-0.9, 0.9, 7) + 0.5j).astype(np.complex64)
        text = call_text(f"xla_builder.math.{name}", ["c64[7]"], "c64[7]")
        np.testing.assert_allclose(run_text(backend, text, x), function(x), rtol=1e-5)

    def test_the_incomplete_beta_function_where_it_is_a_power(self, backend: xla.Backend) -> None:
        a, one = np.array([0.5, 2, 7], np.float32), np.ones(3, np.float32)
        x = np.array([0.1, 0.4, 0.9], np.float32)
        text = call_text("xla_builder.math.RegularizedIncompleteBeta", ["f32[3]"] * 3, "f32[3]")
        np.testing.assert_allclose(run_text(backend, text, a, one, x), x**a, rtol=1e-4)

    def test_the_gradient_of_a_gamma_sample_is_that_of_the_quantile(self, backend: xla.Backend) -> None:
        special = pytest.importorskip("scipy.special")
        a, x = np.array([0.7, 1.5, 4.0]), np.array([0.3, 2.0, 3.5])
        text = call_text("xla_builder.math.RandomGammaGrad", ["f64[3]"] * 2, "f64[3]")
        quantile = special.gammainc(a, x)
        step = 1e-5
        slope = (special.gammaincinv(a + step, quantile) - special.gammaincinv(a - step, quantile)) / (
            2 * step
        )
        np.testing.assert_allclose(run_text(backend, text, a, x), slope, rtol=1e-5)


CALLBACKS = (
    "xla_python_cpu_callback", "xla_ffi_python_cpu_callback", "xla_python_gpu_callback",
    "xla_ffi_python_gpu_callback", "xla_ffi_partitioned_python_cpu_callback",
    "xla_ffi_partitioned_python_gpu_callback", "xla_ffi_python_tpu_callback", "xla_buffer_python_cpu_callback",
    "xla.debug.Log", "io_callback", "debug_callback", "host_callback", "HostCompute",
)  # fmt: skip


@given(
    target=st.sampled_from(CALLBACKS),
    before=st.sampled_from(("", "__", "jax_", "xla.ffi.", "tpu_")),
    after=st.sampled_from(("", "_ffi", ".2", "_v2", "$async")),
    upper=st.booleans(),
)
def test_a_callback_is_known_by_any_spelling(target: str, before: str, after: str, upper: bool) -> None:
    spelled = before + (target.upper() if upper else target) + after
    assert is_callback(spelled)


@given(target=st.sampled_from(CALLBACKS), config=st.text(alphabet="index=3 :ui64{}[],.-", max_size=40))
def test_a_callback_is_refused_whatever_its_config(backend: xla.Backend, target: str, config: str) -> None:
    text = call_text(target, ["f32[2]"], "f32[2]", json.dumps(config))
    with pytest.raises(Cannot, match="never run"):
        run_text(backend, text, np.zeros(2, np.float32))


def test_nothing_that_is_rewritten_or_run_natively_counts_as_a_callback() -> None:
    native = ("lapack_sgetrf_ffi", "TopK", "ApproxTopK", "Sharding", "ducc_fft", "cu_threefry2x32_ffi")
    assert not [target for target in (*REWRITES, *native) if is_callback(target)]


@pytest.mark.parametrize(
    "target", ["tpu_custom_call", "triton_kernel_call_ffi", "te_gemm_ffi", "__gpu$other"]
)
def test_a_kernel_without_a_public_meaning_is_named(backend: xla.Backend, target: str) -> None:
    with pytest.raises(Cannot, match=f"{target.replace('$', '.')} is a kernel"):
        run_text(backend, call_text(target, ["f32[2]"], "f32[2]"), np.zeros(2, np.float32))


BROKEN = (
    '"{"',
    '"[]"',
    '"no json"',
    '{"gemm_backend_config": 3}',
    '{"gemm_backend_config": {"epilogue": "X"}}',
)


@pytest.mark.parametrize("config", BROKEN)
def test_a_damaged_config_is_a_reason(backend: xla.Backend, config: str) -> None:
    text = call_text("__cublas$lt$matmul", ["f32[2,2]", "f32[2,2]"], "f32[2,2]", config)
    with pytest.raises(Cannot, match="__cublas"):
        run_text(backend, text, *[np.zeros((2, 2), np.float32)] * 2)


@pytest.mark.parametrize(
    "target", sorted(t for t in REWRITES if t.startswith(("__", "xla_builder", "xla.gpu")))
)
@pytest.mark.parametrize(
    "shapes", [[], ["f32[3]"], ["f32[2,3]", "(f32[2], s32[])"], ["token[]"], ["f32[0,2]"] * 9]
)
def test_operands_of_any_number_and_shape_give_a_value_or_a_reason(
    backend: xla.Backend, target: str, shapes: list[str]
) -> None:
    text = call_text(target, shapes, "(f32[2,3], s32[], u8[5])")
    program_arguments = {"f32[3]": np.zeros(3, np.float32), "f32[0,2]": np.zeros((0, 2), np.float32)}
    try:
        run_text(backend, text, *(program_arguments[shape] for shape in shapes if shape in program_arguments))
    except Cannot as reason:
        outcome = str(reason)
    else:
        outcome = "a value"
    assert outcome


def test_library_calls_that_round_are_named_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(call_text("__cublas$gemm", ["f32[4,4]", "f32[4,4]"], "f32[4,4]", "{}"))
    (reason,) = open_target(path).reasons
    assert reason == "library calls are computed as plain HLO, so last digits may differ: __cublas$gemm"
    for exact in ("Sharding", "TopK", "__cub$DeviceRadixSort"):
        path.write_text(call_text(exact, ["f32[4,10]"], "f32[4,10]"))
        assert open_target(path).reasons == []


def test_callbacks_are_named_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(call_text("xla_ffi_python_cpu_callback", ["f32[4]"], "()"))
    assert open_target(path).reasons == ["callbacks into the job's program are never run: r"]


def test_one_table_has_every_construct_once() -> None:
    rows = table()
    assert len(rows) == len(RULES) + len(REWRITES) + len(FOREIGN)
    assert len({(kind, name) for kind, name, _ in rows}) == len(rows)
    assert all(words for _, _, words in rows)


KEYS = (
    "gemm_backend_config", "cudnn_conv_backend_config", "onednn_matmul_config", "onednn_conv_config",
    "onednn_softmax_config", "cudnn_fmha_backend_config", "alpha_real", "beta", "epilogue", "fusions", "ops",
    "alpha_typecast", "dot_dimension_numbers", "lhs_contracting_dimensions", "rhs_contracting_dimensions",
    "activation_mode", "conv_result_scale", "serialized_graph", "window", "strides", "softmax_axis",
    "reduction_dim", "mask_type", "result", "tensor", "dimensions",
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 1 << 40), st.floats(),
        st.sampled_from(("BIAS", "GELU", "0", "1", "x")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    target=st.sampled_from(sorted(t for t in REWRITES if t.startswith("__") or "TopK" in t or "Reduce" in t)),
    config=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
    count=st.integers(1, 5),
)
def test_any_config_gives_a_value_or_a_reason(
    backend: xla.Backend, target: str, config: dict[str, object], count: int
) -> None:
    written = json.dumps(json.dumps(config))
    text = call_text(target, ["f32[3,3]"] * count, "(f32[3,3], u8[5])", written)
    try:
        result, _ = run_text(backend, text, *[np.eye(3, dtype=np.float32)] * count)
    except (Cannot, EngineError) as reason:
        outcome: object = str(reason)
    else:
        outcome = result.shape == (3, 3)
    assert outcome
