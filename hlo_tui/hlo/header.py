"""The header line of a module."""

from __future__ import annotations

from dataclasses import dataclass

from hlo_tui.hlo.attributes import split_top


@dataclass(frozen=True, slots=True)
class Header:
    """What the header says.

    Attributes:
        name: the module's name.
        scheduled: whether the order of the lines is the order of execution.
        num_partitions: devices that the module is split over.
        replica_count: devices that run it alike.
        attributes: the text after the name, of a very long header its first part.
        entry_layout: the entry computation's layout, "" where it is not given.
        missing: whether there is no header at all.
    """

    name: str = ""
    scheduled: bool = False
    num_partitions: int = 1
    replica_count: int = 1
    attributes: str = ""
    entry_layout: str = ""
    missing: bool = True


def parse_header(text: str) -> Header:
    """Read the text of a header, from `HloModule` on; what cannot be read keeps its usual value."""
    _, _, rest = text.partition("HloModule")
    name, *parts = split_top(rest) or [""]
    given = {}
    for part in parts:
        key, _, value = part.partition("=")
        given[key.strip()] = value.strip()
    return Header(
        name=name.strip().lstrip("%").rstrip(":"),
        scheduled=given.get("is_scheduled") == "true",
        num_partitions=_count(given.get("num_partitions", "")),
        replica_count=_count(given.get("replica_count", "")),
        attributes=rest[len(name) + 1 :].strip(),
        entry_layout=given.get("entry_computation_layout", ""),
        missing=False,
    )


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
