"""Where a replay stops: the tags that the program set, and what the person asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.blocks import End, ends
from hlo_tui.replay.communication import COMMUNICATING
from hlo_tui.replay.conditions import Condition, parse_condition
from hlo_tui.replay.finite import can_begin
from hlo_tui.replay.program import Computation, Op, Program
from hlo_tui.replay.stopspec import StopSpec

TAG = "breakpoint"
LOG = "_xla_log"
_OFF = frozenset({"", "0", "false"})


class Asked(NamedTuple):
    """Why an instruction is a stop.

    Attributes:
        spec: what asks for it.
        reason: in words.
        condition: on its value; None for always.
        left_out: whether a "first" leaves it out: it is not stopped at, but counted.
    """

    spec: StopSpec
    reason: str
    condition: Condition | None = None
    left_out: bool = False


Resolved = dict[int, dict[int, list[Asked]]]


def is_tagged(attributes: Mapping[str, str]) -> bool:
    """Whether the frontend attributes carry a `breakpoint` that is on."""
    return attributes.get(TAG, "").lower() not in _OFF


def is_logged(attributes: Mapping[str, str]) -> bool:
    """Whether the value is to be logged, not stopped at."""
    return attributes.get(LOG, "").lower() not in _OFF


def resolve(program: Program, specs: list[StopSpec]) -> Resolved:
    """Find the instructions that the stops mean: computation id -> position -> what asks for it.

    A disabled stop at an instruction that carries a tag switches that tag off.

    Raises:
        HloTuiError: a condition cannot be read.
    """
    wanted = [(s, parse_condition(s.condition) if s.condition else None) for s in specs if s.enabled]
    found: Resolved = {}
    lines = _source_lines(program.proto.stack_frame_index) if any(s.kind == "source" for s in specs) else {}
    named = {spec: _meant(program, spec) for spec in specs if spec.kind == "instruction"}
    off = {op for spec, ops in named.items() if not spec.enabled for op in ops}
    for computation in program.reachable():
        for op in computation.ops:
            for spec, condition in wanted:
                if spec.kind == "instruction":
                    reason = _named_reason(spec, op) if op in named[spec] else ""
                elif spec.kind == "tags" and op in off:
                    continue
                else:
                    reason = _matches(spec, computation, op, lines)
                if reason:
                    reason += f" if {condition.text}" if condition else ""
                    asked = Asked(spec, reason, condition, spec.kind == "first" and _left_out(spec, op))
                    found.setdefault(computation.id, {}).setdefault(op.index, []).append(asked)
    if any(spec.kind == "tags" for spec, _ in wanted):
        _merge_callees(program, found)
    for spec in {spec for spec, _ in wanted if spec.ends}:
        _keep_ends(program, found, spec)
    return found


def _keep_ends(program: Program, found: Resolved, spec: StopSpec) -> None:
    """Leave of a stop only the ends of blocks: of what has the same tag, or of what it means at all."""
    mine = {
        program.computation(identity).ops[index]: one
        for identity, row in found.items()
        for index, asked in row.items()
        for one in asked
        if one.spec == spec
    }
    key = {"tags": TAG, "tag": spec.value}.get(spec.kind)

    def tag(op: Op) -> str | None:
        return op.attributes.get(key) if key is not None else None

    kept = {end.op: end for end in ends(program, lambda op: (tag(op) or "") if op in mine else None, tag)}
    for op, one in mine.items():
        row = found[op.computation.id]
        end = kept.get(op)
        changed = [] if end is None else [one._replace(reason=_end_reason(end, one.reason))]
        row[op.index] = [now for before in row[op.index] for now in (changed if before is one else [before])]
        if not row[op.index]:
            del row[op.index]


def _end_reason(end: End, reason: str) -> str:
    if end.size == 1:
        return reason
    which = "first and last" if end.which == "only" else end.which
    return f"{which} of a block of {end.size}, {reason}"


def _meant(program: Program, spec: StopSpec) -> frozenset[Op]:
    """The instructions that a stop at an instruction means.

    In a module that was compiled anew another operation may have the name: where operations of the spec's opcode and
    op_name are there, it is one of them.
    """
    ops = [op for computation in program.reachable() for op in computation.ops]
    same = [op for op in ops if _is_same(op, spec.anchor)]
    named = [op for op in ops if op.name == spec.value and spec.computation in ("", op.computation.name)]
    return frozenset([op for op in named if op in same] or same or named)


def _is_same(op: Op, anchor: tuple[str, str]) -> bool:
    return bool(anchor[1]) and (op.opcode, op.proto.metadata.op_name) == anchor


def _named_reason(spec: StopSpec, op: Op) -> str:
    again = "" if op.name == spec.value else f", now {op.name}: the same op_name"
    return f"stop at {spec.value}{again}"


def logged(program: Program) -> dict[int, list[int]]:
    """Positions whose values go to the log, by computation id."""
    rows = {c.id: [op.index for op in c.ops if is_logged(op.attributes)] for c in program.reachable()}
    return {identity: indices for identity, indices in rows.items() if indices}


def _matches(
    spec: StopSpec, computation: Computation, op: Op, lines: Mapping[int, set[tuple[str, int]]]
) -> str:
    if spec.kind == "tags":
        return f'{TAG}="{op.attributes[TAG]}"' if is_tagged(op.attributes) else ""
    if spec.kind == "opcode":
        return f"opcode {spec.value}" if op.opcode == spec.value else ""
    if spec.kind == "collectives":
        return f"collective {op.opcode}" if op.opcode in COMMUNICATING else ""
    if spec.kind == "tag":
        given = op.attributes.get(spec.value)
        wanted = given is not None and spec.detail in ("", given)
        return f'{spec.value}="{given}"' if wanted else ""
    metadata = op.proto.metadata
    if spec.kind == "first":
        return f"first {spec.value}" if can_begin(computation, op) else ""
    if spec.kind == "op_name":
        return f"op_name matches {spec.value}" if re.search(spec.value, metadata.op_name) else ""
    places = lines.get(metadata.stack_frame_id, set()) | {(metadata.source_file, metadata.source_line)}
    hit = any(line == spec.line and _same_file(file, spec.value) for file, line in places)
    return f"source line {spec.value}:{spec.line}" if hit else ""


def _left_out(spec: StopSpec, op: Op) -> bool:
    return bool(spec.detail and re.search(spec.detail, f"{op.name} {op.proto.metadata.op_name}"))


def _same_file(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith("/" + wanted)


def source_of(op: Op, index: pb.StackFrameIndexProto) -> str:
    """`file:line` of the Python that made an instruction; empty where the module does not say."""
    metadata = op.proto.metadata
    if metadata.source_file:
        return f"{metadata.source_file}:{metadata.source_line}"
    for file, line in _place(index, metadata.stack_frame_id):
        return f"{file}:{line}"
    return ""


def _place(index: pb.StackFrameIndexProto, frame: int) -> set[tuple[str, int]]:
    if not 0 < frame <= len(index.stack_frames):
        return set()
    location = index.stack_frames[frame - 1].file_location_id
    if not 0 < location <= len(index.file_locations):
        return set()
    place = index.file_locations[location - 1]
    if not 0 < place.file_name_id <= len(index.file_names):
        return set()
    return {(index.file_names[place.file_name_id - 1], place.line)}


def _source_lines(index: pb.StackFrameIndexProto) -> dict[int, set[tuple[str, int]]]:
    """The innermost source line of every stack frame id."""
    return {number: _place(index, number) for number in range(1, len(index.stack_frames) + 1)}


def _merge_callees(program: Program, found: Resolved) -> None:
    """Make a tag on a fusion (or call) and on its root one stop, the caller's.

    The compiler copies a root's attributes to the fusion that it makes of it. Where a computation has another
    caller without the tag, its root stays a stop of its own.
    """
    callers: dict[int, list[Op]] = {}
    for op in _callers(program):
        for called in op.called:
            callers.setdefault(called, []).append(op)
    for called, sites in callers.items():
        callee = program.computation(called)
        root = callee.ops[callee.root]
        if not is_tagged(root.attributes):
            continue
        tag = root.attributes[TAG]
        if all(op.opcode in ("fusion", "call") and op.attributes.get(TAG) == tag for op in sites):
            asked = found.get(called, {}).get(callee.root, [])
            asked[:] = [one for one in asked if one.spec.kind != "tags"]
            if not asked:
                found.get(called, {}).pop(callee.root, None)


def _callers(program: Program) -> Iterator[Op]:
    return (op for computation in program.reachable() for op in computation.ops if op.called)
