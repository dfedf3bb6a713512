"""Fused attention of cuDNN gives what JAX's own attention and its gradients give."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.lowering import Cannot
from tests.replay.running import call_text, run_text

B, T, S, N, H = 2, 6, 8, 4, 5
SCALE = 0.3


def normal(*dims: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=dims).astype(np.float32)


def config(layout: str, mask: str, backward: bool = False, **more: Any) -> str:
    """As JAX writes it for its cuDNN attention."""
    batch = ["0", "2"] if layout == "BTNH" else ["0", "1"]
    numbers = {
        "lhs_contracting_dimensions": ["3"], "rhs_contracting_dimensions": ["3"],
        "lhs_batch_dimensions": batch, "rhs_batch_dimensions": batch,
    }  # fmt: skip
    key = "bmm2_grad_gemm2_dot_dimension_numbers" if backward else "bmm1_dot_dimension_numbers"
    inner = {
        "fmha_scale": SCALE,
        "mask_type": mask,
        "dropout_rate": 0.0,
        "max_seg_per_batch": 1,
        key: numbers,
    }
    return json.dumps({"operation_queue_id": "0", "cudnn_fmha_backend_config": inner | more})


class Case:
    """Operands in a layout, and JAX's attention on them."""

    def __init__(self, layout: str, mask: str, with_bias: bool, kv_heads: int, window: int = 0) -> None:
        self.layout, self.mask, self.window, self.kv_heads = layout, mask, window, kv_heads
        self.q, self.k, self.v = (
            normal(B, length, heads, H, seed=seed)
            for seed, (length, heads) in enumerate(((T, N), (S, kv_heads), (S, kv_heads)))
        )
        self.bias = normal(1, N, T, S, seed=7) if with_bias else None
        padded = mask.startswith("PADDING")
        self.lengths = [np.array([4, 6], np.int32), np.array([3, 8], np.int32)] if padded else []

    def attend(self, q: Any, k: Any, v: Any, bias: Any = None) -> Any:
        lengths = self.lengths or [None, None]
        return jax.nn.dot_product_attention(
            q, k, v, bias=bias, scale=SCALE, is_causal=self.mask.endswith("CAUSAL"),
            query_seq_lengths=lengths[0], key_value_seq_lengths=lengths[1],
            local_window_size=(self.window - 1, 0) if self.window else None, implementation="xla",
        )  # fmt: skip

    def arranged(self, x: np.ndarray) -> np.ndarray:
        return x if self.layout == "BTNH" else x.transpose(0, 2, 1, 3)

    @property
    def inputs(self) -> list[np.ndarray]:
        return [self.q, self.k, self.v, *([] if self.bias is None else [self.bias])]


def shape(array: np.ndarray) -> str:
    return f"{'s32' if array.dtype == np.int32 else 'f32'}[{','.join(map(str, array.shape))}]"


CASES = {
    "plain": ("BTNH", "NO_MASK", False, N, 0),
    "heads first": ("BNTH", "NO_MASK", False, N, 0),
    "bias": ("BTNH", "NO_MASK", True, N, 0),
    "causal": ("BNTH", "CAUSAL", False, N, 0),
    "padding": ("BTNH", "PADDING", False, N, 0),
    "padding, causal, bias": ("BTNH", "PADDING_CAUSAL", True, N, 0),
    "shared heads": ("BTNH", "CAUSAL", False, 2, 0),
    "window": ("BTNH", "CAUSAL", False, N, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_forward(backend: xla.Backend, name: str) -> None:
    case = Case(*CASES[name])
    given = [*map(case.arranged, (case.q, case.k, case.v)), *case.inputs[3:], *case.lengths]
    target = "__cudnn$fmhaSoftmax" if case.bias is None else "__cudnn$fmhaScaleBiasSoftmax"
    text = call_text(
        target, [shape(x) for x in given], f"(f32[{B},{N},{T},{H}], f32[{B},{N},{T}], u8[0])",
        config(case.layout, case.mask, sliding_window_length=case.window),
    )  # fmt: skip
    result, sums, _ = run_text(backend, text, *given)
    expected = np.asarray(case.attend(*case.inputs)).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    if name == "plain":
        scores = SCALE * np.einsum("btnh,bsnh->bnts", case.q, case.k)
        np.testing.assert_allclose(sums, np.log(np.exp(scores).sum(-1)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in CASES if name != "window"])
def test_backward(backend: xla.Backend, name: str) -> None:
    case = Case(*CASES[name])
    gradient = normal(B, T, N, H, seed=9)
    out, pull = jax.vjp(case.attend, *case.inputs)
    sums = np.zeros((B, N, T), np.float32)
    given = [
        *map(case.arranged, (case.q, case.k, case.v)), sums, case.arranged(gradient), *case.inputs[3:],
        case.arranged(np.asarray(out)), *case.lengths,
    ]  # fmt: skip
    results = [f"f32[{B},{N},{T},{H}]", *[f"f32[{B},{case.kv_heads},{S},{H}]"] * 2]
    if case.bias is not None:
        results.append(shape(case.bias))
    target = "__cudnn$fmhaSoftmaxBackward" if case.bias is None else "__cudnn$fmhaScaleBiasSoftmaxBackward"
    text = call_text(
        target, [shape(x) for x in given], f"({', '.join(results)}, u8[0])",
        config(case.layout, case.mask, backward=True),
    )  # fmt: skip
    found = run_text(backend, text, *given)[:-1]
    expected = pull(jnp.asarray(gradient))
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        wanted = np.asarray(other).transpose(0, 2, 1, 3) if number < 3 else np.asarray(other)
        np.testing.assert_allclose(one, wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"dropout_rate": 0.1}, "dropout"),
        ({"max_seg_per_batch": 2}, "packed"),
        ({"is_paged_attention": True}, "paged"),
        ({"mask_type": "ALIBI"}, "ALIBI"),
    ],
)
def test_what_is_not_known_is_named(backend: xla.Backend, more: dict[str, Any], words: str) -> None:
    q = f"f32[{B},{T},{N},{H}]"
    text = call_text(
        "__cudnn$fmhaSoftmax", [q, q, q], f"(f32[{B},{N},{T},{H}], u8[0])", config("BTNH", "NO_MASK", **more)
    )
    with pytest.raises(Cannot, match=words):
        run_text(backend, text)
