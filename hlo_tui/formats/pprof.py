"""The profile of a jaxpr that JAX writes for pprof: how many equations each line of a program makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hlo_tui.dump.words import count_text
from hlo_tui.formats.rendered import Rendered, damaged
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode
from hlo_tui.hlo.wire import varint

_MOST_BYTES = 64 << 20
_MOST_ROWS = 100_000
_SAMPLE, _LOCATION, _FUNCTION, _STRING = 2, 4, 5, 6
_FRAMES = 32


def render(source: Source) -> Rendered:
    """The samples as a table, the most first.

    Raises:
        HloTuiError: it is no profile.
    """
    data = source.read(0, min(source.size, _MOST_BYTES))
    strings: list[bytes] = []
    functions: dict[int, tuple[int, int]] = {}
    locations: dict[int, tuple[int, int]] = {}
    samples: list[tuple[list[int], int, int]] = []
    for number, value in _fields(data):
        if number == _STRING and isinstance(value, bytes):
            strings.append(value)
        elif number == _FUNCTION and isinstance(value, bytes):
            found = _numbers(value)
            functions[found.get(1, 0)] = (found.get(2, 0), found.get(4, 0))
        elif number == _LOCATION and isinstance(value, bytes):
            locations[_numbers(value).get(1, 0)] = _line(value)
        elif number == _SAMPLE and isinstance(value, bytes):
            samples.append(_sample(value))
    if len(strings) < 2:
        raise damaged(
            source.name, "it holds no samples of a profile", "JAX writes it with JAX_DUMP_IR_MODES."
        )

    def word(at: int) -> str:
        return decode(strings[at]) if 0 <= at < len(strings) else "?"

    def place(location: int) -> str:
        function, line = locations.get(location, (0, 0))
        name, file = functions.get(function, (0, 0))
        return f"{word(file)}:{line} {word(name)}"

    rows = ["# equations by primitive and line"]
    totals: Counter[str] = Counter()
    samples.sort(key=lambda one: -one[1])
    for chain, count, label in samples[:_MOST_ROWS]:
        primitive = word(label)
        totals[primitive] += count
        rows.append(f"{count:>8,}  {primitive:<24} {'  <  '.join(map(place, chain[:_FRAMES]))}")
    rows += ["", "# equations by primitive"]
    rows += [f"{count:>8,}  {primitive}" for primitive, count in totals.most_common()]
    facts = (
        f"{count_text(sum(totals.values()), 'equation')} from {count_text(len(samples), 'line')}",
        *(
            ("the most: " + ", ".join(f"{name} {count:,}" for name, count in totals.most_common(6)),)
            if totals
            else ()
        ),
    )
    return Rendered("\n".join(rows).encode(), facts, "a table of the samples of a profile")


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: numbers, and bytes of what has a length; ends where that is no field."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif wire == 2:
            length, at = varint(data, at)
            if at + length > len(data):
                return
            yield key >> 3, data[at : at + length]
            at += length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            return


def _numbers(data: bytes) -> dict[int, int]:
    return {number: value for number, value in _fields(data) if isinstance(value, int)}


def _line(data: bytes) -> tuple[int, int]:
    """The function and the line of a location's innermost line."""
    for number, value in _fields(data):
        if number == 4 and isinstance(value, bytes):
            found = _numbers(value)
            return found.get(1, 0), found.get(2, 0)
    return 0, 0


def _sample(data: bytes) -> tuple[list[int], int, int]:
    """Locations, the count, and the string that labels a sample with its primitive."""
    chain: list[int] = []
    count = label = 0
    for number, value in _fields(data):
        if number == 1:
            chain += [value] if isinstance(value, int) else _packed(value)
        elif number == 2:
            counts = [value] if isinstance(value, int) else _packed(value)
            count = count or (counts[0] if counts else 0)
        elif number == 3 and isinstance(value, bytes):
            label = _numbers(value).get(2, 0)
    return chain, count, label


def _packed(data: bytes) -> list[int]:
    found = []
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found
