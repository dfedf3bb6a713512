"""What devices send to one another: the collectives of a module, their groups and their bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hlo_tui.cost.rules import leaf_bytes
from hlo_tui.hlo.header import Header
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.numerals import product
from hlo_tui.hlo.shape import Shape

# What is done at once, by the opcode of what begins it.
KINDS = {
    "all-reduce": "all-reduce", "all-reduce-start": "all-reduce", "all-gather": "all-gather",
    "all-gather-start": "all-gather", "reduce-scatter": "reduce-scatter", "all-to-all": "all-to-all",
    "ragged-all-to-all": "all-to-all", "collective-permute": "collective-permute",
    "collective-permute-start": "collective-permute", "collective-broadcast": "collective-broadcast",
    "send": "send", "recv": "recv",
}  # fmt: skip
_LISTED = re.compile(r"\{\s*\{([\d, ]*)\}")
_IOTA = re.compile(r"\[(\d{1,9}),(\d{1,9})\]<=")
_MESH = re.compile(r"'([^']{1,100})'=(\d{1,9})")
_AXES = re.compile(r"\]\s*\{([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective.

    Attributes:
        kind: without the word for its first half.
        size: bytes of what it works on, on one device: of an all-gather the result, else the operands.
        group: how many devices take part in one; 0 where that is not known.
        wire: bytes that a device sends in the usual ring algorithm, None where the group is not known.
        groups: the attribute as written.
        channel: its number, "" without one.
    """

    kind: str
    size: int
    group: int
    wire: float | None
    groups: str
    channel: str


def collective(instruction: Instruction, operands: list[Shape], header: Header) -> Collective | None:
    """What an instruction sends; None where it is no collective."""
    kind = KINDS.get(instruction.opcode)
    if kind is None:
        return None
    given = sum(map(leaf_bytes, operands))
    size = given
    if kind == "all-gather":
        result = instruction.shape
        if instruction.opcode.endswith("-start") and len(result.elements) > 1:
            result = result.elements[1]
        size = leaf_bytes(result)
    elif kind == "recv":
        size = leaf_bytes(instruction.shape.elements[0] if instruction.shape.elements else instruction.shape)
    groups = instruction.attributes.get("replica_groups", "")
    group = _group(groups, header) if kind not in ("collective-permute", "send", "recv") else 2
    return Collective(
        kind, size, group, _wire(kind, size, group),
        groups or instruction.attributes.get("source_target_pairs", ""), instruction.attributes.get("channel_id", ""),
    )  # fmt: skip


def _group(groups: str, header: Header) -> int:
    if "mesh[" in groups or "'" in groups:
        sizes = {name: int(size) for name, size in _MESH.findall(groups)}
        axes = _AXES.search(groups)
        named = re.findall(r"'([^']{1,100})'", axes[1]) if axes is not None else []
        return product(sizes[name] for name in named if name in sizes) if named else 0
    iota = _IOTA.search(groups)
    if iota is not None:
        return int(iota[2])
    listed = _LISTED.search(groups)
    if listed is not None:
        return len([one for one in listed[1].split(",") if one.strip()])
    return header.num_partitions * header.replica_count


def _wire(kind: str, size: int, group: int) -> float | None:
    if group <= 0:
        return None
    share = (group - 1) / group
    if kind == "all-reduce":
        return 2 * share * size
    if kind in ("all-gather", "reduce-scatter", "all-to-all"):
        return share * size
    return float(size) if group > 1 else 0.0
