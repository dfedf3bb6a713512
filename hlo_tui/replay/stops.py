"""Where a replay stops: the tags that the program set, and what the person asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.program import Computation, Op, Program
from hlo_tui.replay.stopspec import TAGS, StopSpec

TAG = "breakpoint"
LOG = "_xla_log"
_OFF = frozenset({"", "0", "false"})


def is_tagged(attributes: Mapping[str, str]) -> bool:
    """Whether the frontend attributes carry a `breakpoint` that is on."""
    return attributes.get(TAG, "").lower() not in _OFF


def is_logged(attributes: Mapping[str, str]) -> bool:
    """Whether the value is to be logged, not stopped at."""
    return attributes.get(LOG, "").lower() not in _OFF


def resolve(program: Program, specs: list[StopSpec]) -> dict[int, dict[int, str]]:
    """Find the instructions that the stops mean: computation id -> position -> the reason in words."""
    found: dict[int, dict[int, str]] = {}
    lines = _source_lines(program.proto.stack_frame_index) if any(s.kind == "source" for s in specs) else {}
    for computation in program.reachable():
        for op in computation.ops:
            for spec in specs:
                reason = _matches(spec, computation, op, lines)
                if reason:
                    found.setdefault(computation.id, {}).setdefault(op.index, reason)
    if TAGS in specs:
        _merge_callees(program, found)
    return found


def logged(program: Program) -> dict[int, list[int]]:
    """Positions whose values go to the log, by computation id."""
    rows = {c.id: [op.index for op in c.ops if is_logged(op.attributes)] for c in program.reachable()}
    return {identity: indices for identity, indices in rows.items() if indices}


def _matches(
    spec: StopSpec, computation: Computation, op: Op, lines: Mapping[int, set[tuple[str, int]]]
) -> str:
    if spec.kind == "tags":
        return f'{TAG}="{op.attributes[TAG]}"' if is_tagged(op.attributes) else ""
    if spec.kind == "instruction":
        return (
            f"stop at {spec.text()}"
            if op.name == spec.value and spec.computation in ("", computation.name)
            else ""
        )
    if spec.kind == "opcode":
        return f"opcode {spec.value}" if op.opcode == spec.value else ""
    metadata = op.proto.metadata
    if spec.kind == "op_name":
        return f"op_name matches {spec.value}" if re.search(spec.value, metadata.op_name) else ""
    places = lines.get(metadata.stack_frame_id, set()) | {(metadata.source_file, metadata.source_line)}
    hit = any(line == spec.line and _same_file(file, spec.value) for file, line in places)
    return f"source line {spec.value}:{spec.line}" if hit else ""


def _same_file(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith("/" + wanted)


def _source_lines(index: pb.StackFrameIndexProto) -> dict[int, set[tuple[str, int]]]:
    """The innermost source line of every stack frame id."""
    places: dict[int, set[tuple[str, int]]] = {}
    for number, frame in enumerate(index.stack_frames, 1):
        if 0 < frame.file_location_id <= len(index.file_locations):
            location = index.file_locations[frame.file_location_id - 1]
            if 0 < location.file_name_id <= len(index.file_names):
                places[number] = {(index.file_names[location.file_name_id - 1], location.line)}
    return places


def _merge_callees(program: Program, found: dict[int, dict[int, str]]) -> None:
    """Make a tag on a fusion (or call) and on its root one stop, the caller's.

    The compiler copies a root's attributes to the fusion that it makes of it. Where a computation has another
    caller
    without the tag, its root stays a stop of its own.
    """
    callers: dict[int, list[tuple[Computation, Op]]] = {}
    for computation, op in _callers(program):
        for called in op.called:
            callers.setdefault(called, []).append((computation, op))
    for called, sites in callers.items():
        callee = program.computation(called)
        root = callee.ops[callee.root]
        if not is_tagged(root.attributes):
            continue
        tag = root.attributes[TAG]
        if all(op.opcode in ("fusion", "call") and op.attributes.get(TAG) == tag for _, op in sites):
            found.get(called, {}).pop(callee.root, None)


def _callers(program: Program) -> Iterator[tuple[Computation, Op]]:
    for computation in program.reachable():
        for op in computation.ops:
            if op.called:
                yield computation, op
