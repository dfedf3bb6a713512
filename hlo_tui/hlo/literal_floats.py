"""Floating-point formats of eight bits and fewer, from their published descriptions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hlo_tui.hlo.schema import hlo_pb2 as pb


def nan_text(negative: int, payload: int, quiet_bit: int) -> str:
    """Give the text of a NaN: its sign, and its payload unless that is just the quiet bit."""
    suffix = "" if payload == 1 << quiet_bit else f"(0x{payload:x})"
    return f"{'-' if negative else ''}nan{suffix}"


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """A format with a sign bit (where it has one), exponent bits and mantissa bits, from high to low.

    Attributes:
        exponent: number of exponent bits.
        mantissa: number of mantissa bits.
        bias: what is taken off the stored exponent.
        special: "ieee" has infinities and NaNs with payloads in the highest exponent; "fn" has one NaN, all
            ones; "fnuz" one NaN, in place of minus zero; "finite" neither; "scale" an exponent alone, and one
            NaN, all ones.
    """

    exponent: int
    mantissa: int
    bias: int
    special: str

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.exponent + self.mantissa + (self.special != "scale")

    def text(self, code: int) -> str:
        """Give the number that `code` stands for, with as many digits as tell it from its neighbours."""
        fraction = code & ((1 << self.mantissa) - 1)
        stored = code >> self.mantissa & ((1 << self.exponent) - 1)
        negative = self.special != "scale" and code >> (self.exponent + self.mantissa)
        highest = stored == (1 << self.exponent) - 1
        if self.special == "fnuz" and negative and not stored and not fraction:
            return "-nan"
        if self.special == "scale":
            return "nan" if highest else self._digits(math.ldexp(1.0, stored - self.bias))
        if highest and self.special == "ieee":
            if fraction:
                return nan_text(negative, fraction, self.mantissa - 1)
            return "-inf" if negative else "inf"
        if highest and self.special == "fn" and fraction == (1 << self.mantissa) - 1:
            return "-nan" if negative else "nan"
        whole = fraction + (1 << self.mantissa) if stored else fraction
        value = math.ldexp(whole, max(stored, 1) - self.bias - self.mantissa)
        return self._digits(-value if negative else value)

    def _digits(self, value: float) -> str:
        digits = math.ceil(1 + (self.mantissa + 1) * math.log10(2))
        return f"{value:.{digits}g}"


SMALL_FLOATS = {
    pb.F8E5M2: SmallFloat(5, 2, 15, "ieee"),
    pb.F8E4M3: SmallFloat(4, 3, 7, "ieee"),
    pb.F8E3M4: SmallFloat(3, 4, 3, "ieee"),
    pb.F8E4M3FN: SmallFloat(4, 3, 7, "fn"),
    pb.F8E4M3B11FNUZ: SmallFloat(4, 3, 11, "fnuz"),
    pb.F8E5M2FNUZ: SmallFloat(5, 2, 16, "fnuz"),
    pb.F8E4M3FNUZ: SmallFloat(4, 3, 8, "fnuz"),
    pb.F8E8M0FNU: SmallFloat(8, 0, 127, "scale"),
    pb.F6E3M2FN: SmallFloat(3, 2, 3, "finite"),
    pb.F6E2M3FN: SmallFloat(2, 3, 1, "finite"),
    pb.F4E2M1FN: SmallFloat(2, 1, 1, "finite"),
}
