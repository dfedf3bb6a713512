"""Functions that XLA's CPU compiler has no code for, from JAX's library."""

from __future__ import annotations

from typing import Any

from hlo_tui.replay.traced import Call, Function, Meaning

OPCODES = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh")

# XLA's client library, where a test leaves it as a custom call.
LIBRARY = {
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Cosh": "cosh",
    "IgammaGradA": "igamma_grad_a",
    "NextAfter": "nextafter",
    "Polygamma": "polygamma",
    "RandomGammaGrad": "random_gamma_grad",
    "RegularizedIncompleteBeta": "betainc",
}


def _lax(name: str) -> Meaning:
    def meaning(_call: Call) -> Function:
        def run(*operands: Any) -> list[Any]:
            from jax import lax

            return [getattr(lax, name)(*operands)]

        return run

    return meaning


BY_OPCODE: dict[str, Meaning] = {opcode: _lax(opcode) for opcode in OPCODES}
BY_TARGET: dict[str, Meaning] = {f"xla_builder.math.{name}": _lax(lax) for name, lax in LIBRARY.items()}
