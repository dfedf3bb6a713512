"""Tags: the frontend attributes that a program puts on operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BREAKPOINT = "breakpoint"
_OFF = frozenset(("", "0", "false"))
# What XLA, Shardy, JAX and the backends write by themselves.
_COMPILER_KEYS = frozenset((
    "inlineable", "is_spmd_generated", "num_batch_dims", "fingerprint_before_lhs", "xla_cpu_small_call",
    "_xla_host_transfer_rendezvous", "_xla_host_transfer_handler_name", "_xla_host_transfer_original_type",
    "_xla_host_transfer_is_lower_bits", "_xla_send_recv_source_target_pairs", "_xla_send_recv_validation",
    "_xla_send_recv_pipeline", "_xla_collective_matmul", "_xla_compute_type",
))  # fmt: skip
_COMPILER_PREFIXES = ("xla.", "xla_gpu_", "xla_cpu_", "xla_tpu_", "mhlo.", "jax.", "composite.", "tf.")


@dataclass(frozen=True, slots=True)
class Tag:
    """One key and value on one instruction; `line` is that of `file`, 0 and "" where they are not known."""

    key: str
    value: str
    instruction: str
    computation: str
    opcode: str
    op_name: str
    file: str
    line: int

    @property
    def is_user_key(self) -> bool:
        """Whether the key is a person's own, not one that a compiler writes for itself."""
        return is_user_key(self.key)


def is_user_key(key: str) -> bool:
    """Whether `key` is a person's own, not one that a compiler writes for itself."""
    return key not in _COMPILER_KEYS and not key.startswith(_COMPILER_PREFIXES)


def stops(frontend_attributes: Mapping[str, str]) -> bool:
    """Whether the attributes ask for a stop: `breakpoint` with any value but false, 0 and nothing."""
    return frontend_attributes.get(BREAKPOINT, "").strip().lower() not in _OFF
