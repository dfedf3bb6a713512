"""What is known of a NaN or an infinity where it begins, in words: out of what, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hlo_tui.replay.summarywords import number_words

Json = Mapping[str, Any]
_NAMED = 3


def begin_words(found: Json) -> str:
    """What begins, such as "NaN" or "NaN and -inf"; empty where an older engine does not say."""
    begins = found.get("begins") or {}
    return " and ".join(kind for kind in ("NaN", "inf", "-inf") if begins.get(kind))


def operand_words(found: Json) -> str:
    """What the operands hold."""
    operands = found.get("operands") or []
    if not operands:
        return "its operands are finite"
    with_nan = [one for one in operands if one["nan"]]
    out_of = found.get("out_of_infinity")
    if out_of and not with_nan:
        return f"NaN out of infinities in its operands: {_named(operands)}"
    came = "NaN" if with_nan else "infinity"
    here = f"{begin_words(found)} begins here at other elements" + (", out of infinities" if out_of else "")
    return f"{came} came in with {_named(with_nan or operands)}; {here}"


def given_words(found: Json, text: Callable[[Any], str] = number_words) -> str:
    """What it is made of, such as "at [2, 5] %x.1 is -4", with numbers as `text` writes them; empty where an older
    engine does not say.
    """
    given = found.get("given") or {}
    index, words = given.get("index"), []
    for one in given.get("operands") or ():
        value = one["value"]
        if "element" in one or value.get("count") == 1:
            number = one["element"] if "element" in one else value["first"][0]
            words.append(f"%{one['instruction']} is {text(number)}")
        elif value.get("count") and value.get("min") is not None:
            words.append(f"%{one['instruction']} is from {text(value['min'])} to {text(value['max'])}")
    return (f"at {index} " if index and words else "") + ", ".join(words)


def _named(operands: list[Json]) -> str:
    names = [f"%{one['instruction']} ({_counts(one)})" for one in operands[:_NAMED]]
    return ", ".join(names) + (", ..." if len(operands) > _NAMED else "")


def _counts(one: Json) -> str:
    return ", ".join(
        f"{one[key]} {key_name}" for key, key_name in (("nan", "NaN"), ("inf", "inf")) if one[key]
    )


def fate_words(found: Json) -> str:
    """What becomes of it."""
    outputs = found.get("outputs")
    if outputs:
        held = [f"output {one['output']} ({_counts(one)} of it there at the end)" for one in outputs[:_NAMED]]
        return "reaches " + ", ".join(held) + (", ..." if len(outputs) > _NAMED else "")
    if found.get("reaches_output"):
        return "an output that is not finite depends on it"
    if found.get("masked_by"):
        return f"is masked: %{found['masked_by']} has none of it any more, no output does"
    return "is masked: no output depends on it"
