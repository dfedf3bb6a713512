"""What the fused attention of cuDNN means: softmax(scale * Q . K + bias, masked) . V, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlo_tui.replay.traced import Call, Function, Unsupported

_MASKS = ("NO_MASK", "PADDING", "CAUSAL", "PADDING_CAUSAL")


def forward(call: Call) -> Function:
    """`__cudnn$fmha...`: Q, K, V, then the bias, then the lengths of queries and keys.

    The result is [batch, head, query, feature]; a second one, in training, is the logarithm of the softmax's sums.
    """
    attention = _Attention(call, "bmm1_dot_dimension_numbers")
    training = len(call.results) > 2

    def run(q: Any, k: Any, v: Any, *rest: Any) -> Sequence[Any]:
        bias, lengths = attention.rest(rest)
        result, sums = attention.attend(q, k, v, bias, lengths)
        return [result, sums] if training else [result]

    return run


def backward(call: Call) -> Function:
    """`__cudnn$fmha...Backward`: Q, K, V, the forward sums, the gradient of the result, the bias, the result, lengths.

    The results are the gradients of Q, K and V as [batch, head, position, feature], and that of the bias.
    """
    attention = _Attention(call, "bmm2_grad_gemm2_dot_dimension_numbers")

    def run(q: Any, k: Any, v: Any, _sums: Any, gradient: Any, *rest: Any) -> Sequence[Any]:
        import jax
        import jax.numpy as jnp

        given = list(rest)
        given.pop(1 if attention.has_bias else 0)
        bias, lengths = attention.rest(given)

        def attend(q: Any, k: Any, v: Any, bias: Any = None) -> Any:
            return attention.attend(q, k, v, bias, lengths)[0]

        inputs = [x.astype(jnp.float32) for x in (q, k, v)]
        if bias is not None:
            inputs.append(bias.astype(jnp.float32))
        _, pull = jax.vjp(attend, *inputs)
        wide = attention.heads_first(gradient.astype(jnp.float32))
        dq, dk, dv, *dbias = pull(wide)
        gradients = [attention.heads_first(d) for d in (dq, dk, dv)]
        return [*gradients, *dbias] if len(call.results) > 4 else gradients

    return run


class _Attention:
    """The settings of one call."""

    def __init__(self, call: Call, layout: str) -> None:
        settings = call.settings("cudnn_fmha_backend_config")
        target = call.proto.custom_call_target
        named = settings.get("mask_type", 0)
        self._mask = _MASKS[named] if isinstance(named, int) and named < len(_MASKS) else str(named)
        if "Dropout" in target or float(settings.get("dropout_rate", 0)) > 0:
            raise Unsupported("its dropout draws numbers that only cuDNN draws")
        if int(settings.get("max_seg_per_batch", 0)) > 1 or settings.get("is_paged_attention"):
            raise Unsupported("packed sequences and paged keys are not known here")
        if self._mask not in _MASKS:
            raise Unsupported(f"the mask {self._mask} is not known")
        self.has_bias = "Bias" in target
        self._scale = float(settings.get("fmha_scale", 0))
        self._window = int(settings.get("sliding_window_length", 0))
        batch = [int(d) for d in settings.get(layout, {}).get("lhs_batch_dimensions", ())]
        self._heads_last = batch == [0, 2]

    def rest(self, given: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """The bias or None, and the lengths, of what follows the fixed operands."""
        return (given[0], given[1:]) if self.has_bias else (None, given)

    def heads_first(self, x: Any) -> Any:
        """[batch, position, head, feature] as [batch, head, position, feature]."""
        return x.transpose(0, 2, 1, 3) if self._heads_last else x

    def attend(self, q: Any, k: Any, v: Any, bias: Any, lengths: Sequence[Any]) -> tuple[Any, Any]:
        """The result and the logarithm of the sums, with heads first."""
        import jax
        import jax.numpy as jnp

        q, k, v = (self.heads_first(x.astype(jnp.float32)) for x in (q, k, v))
        # Several heads of queries may share one of keys.
        k, v = (jnp.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
        scores = jnp.einsum("bnth,bnsh->bnts", q, k) * self._scale
        if bias is not None:
            scores = scores + bias.astype(jnp.float32)
        scores = jnp.where(self._seen(q.shape[2], k.shape[2], lengths), scores, -1e30)
        sums = jax.nn.logsumexp(scores, axis=-1)
        result = jnp.einsum("bnts,bnsh->bnth", jnp.exp(scores - sums[..., None]), v)
        if self._mask.startswith("PADDING"):
            asked = jnp.arange(q.shape[2]) < lengths[0][:, None]
            result = jnp.where(asked[:, None, :, None], result, 0)
        return result, sums

    def _seen(self, queries: int, keys: int, lengths: Sequence[Any]) -> Any:
        """Which keys a query sees, as an array that goes with the scores."""
        import jax.numpy as jnp

        query, key = jnp.arange(queries)[:, None], jnp.arange(keys)[None, :]
        seen = jnp.ones((1, 1, queries, keys), bool)
        if self._mask.endswith("CAUSAL"):
            seen &= key <= query
        if self._window > 0:
            seen &= key > query - self._window
        if self._mask.startswith("PADDING"):
            seen = seen & (key < lengths[1][:, None, None, None])
        return seen
