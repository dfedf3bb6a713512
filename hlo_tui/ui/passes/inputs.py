"""Inputs as a person types them on the screens that run stages."""

from __future__ import annotations

from hlo_tui.errors import HloTuiError

HINT = "auto (a snapshot's, else made), made, large, boundary, a .npz, .npy or snapshot file; then a seed"


def parse_inputs(text: str, seed: int) -> tuple[str, int]:
    """What was typed as inputs and seed; the seed is the one before where none was typed.

    Raises:
        HloTuiError: what stands behind a kind of made inputs is no seed.
    """
    inputs, _, number = text.strip().rpartition(" ")
    if inputs and number.isdecimal() and len(number) < 10:
        return inputs.strip(), int(number)
    if inputs in ("auto", "any", "made", "zeros", "ones", "normal", "large", "boundary"):
        raise HloTuiError("Not a seed", number, "Give a number behind the inputs.")
    return text.strip() or "auto", seed
