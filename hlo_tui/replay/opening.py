"""Getting a file ready to run: its module as a proto, the order of its lines, and the inputs that belong to
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hlo_tui.dump.names import parse_path
from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.hlo import loading
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.source import BytesSource
from hlo_tui.replay import channels, collectives, customcalls, newer, xla
from hlo_tui.replay.collectives import ONE_DEVICE, Topology
from hlo_tui.replay.converted import converted_literals
from hlo_tui.replay.inputs import Inputs, Placement, from_npz, made, parameters, recorded
from hlo_tui.replay.limits import Room
from hlo_tui.replay.making import PRESETS
from hlo_tui.replay.program import Program
from hlo_tui.replay.sharding import from_op_sharding


@dataclass
class Target:
    """What is to be run.

    Attributes:
        path: the file it comes from.
        module: the module.
        topology: how many devices it was compiled for.
        order: for text, the names of a computation's instructions as they stand in it.
        arguments: a snapshot's literals, those of each partition.
        result: a snapshot's recorded result.
        reasons: what keeps the replay from being faithful to the job.
        hidden: (computation, instruction) that stand for what the text only implies: stepping goes past them.
        made_up: (computation, instruction) of constants whose values are nowhere.
    """

    path: Path
    module: pb.HloModuleProto
    topology: Topology = ONE_DEVICE
    order: dict[str, list[str]] = field(default_factory=dict)
    arguments: Sequence[Sequence[pb.LiteralProto]] = ()
    result: pb.LiteralProto | None = None
    reasons: list[str] = field(default_factory=list)
    hidden: frozenset[tuple[str, str]] = frozenset()
    made_up: list[tuple[str, str]] = field(default_factory=list)

    def program(self) -> Program:
        """The module as the engine walks it; a module that is not cut for its devices yet runs on one.

        Raises:
            EngineError: it refers to something that is not in it.
        """
        try:
            program = Program(self.module, self.order, self.hidden)
            if self.topology.partitions > 1 and self.topology.replicas == 1 and _is_one_program(program):
                self.topology = ONE_DEVICE
        except ValueError as error:
            raise EngineError("this module cannot be run", f"{self.path}: {error}") from error
        return program


def open_target(
    path: Path, member: str | None = None, room: Room | None = None, as_written: bool = False
) -> Target:
    """Read a module for a replay.

    Args:
        path: HLO text, or any of the proto forms.
        member: which module, where a file holds several.
        room: what memory the constants may take that the text leaves out.
        as_written: leave in it what a replay could not use.

    Raises:
        HloTuiError: it cannot be read.
        EngineError: XLA does not accept it, or it needs too much memory.
    """
    if loading.is_proto(path):
        target = _from_proto(path)
    else:
        target = _from_text(path, loading.open_document(path, member), room or Room(), as_written)
    target.reasons += customcalls.remarks(target.module)
    return target


def _from_proto(path: Path) -> Target:
    loaded = loading.read_proto(path)
    target = Target(path, loaded.module, arguments=loaded.arguments, result=loaded.result)
    target.topology = _proto_topology(loaded.module, len(loaded.arguments))
    return target


def _proto_topology(module: pb.HloModuleProto, partitions: int) -> Topology:
    """A proto does not say for how many devices it is; its device assignment or a snapshot does."""
    assignment = module.device_assignment
    if assignment.replica_count or assignment.computation_count:
        return Topology(max(assignment.replica_count, 1), max(assignment.computation_count, 1))
    return Topology(1, max(partitions, 1))


def _from_text(path: Path, document: loading.Document, room: Room, as_written: bool) -> Target:
    module = Module(document.source)
    outline = module.scan()
    header = outline.header
    # XLA reads its flags at its first use in a process: they have to be set before the parser runs.
    topology = Topology(header.replica_count, header.num_partitions)
    xla.set_flags(topology.devices)
    text = document.source.read(0, document.source.size)
    order, elided, count = _listed(module, text)
    # The parser makes elements for what the text leaves out.
    room.check_bytes(count, "constants that the text leaves out")
    parsed = newer.parse(text, as_written)
    hidden: frozenset[tuple[str, str]] = frozenset()
    if parsed.text != text:
        as_parsed = Module(BytesSource(parsed.text, str(path)))
        as_parsed.scan()
        there = {(computation, name) for computation, names in order.items() for name in names}
        order = _listed(as_parsed, parsed.text)[0]
        hidden = frozenset((c, name) for c, names in order.items() for name in names) - there
    target = Target(path, pb.HloModuleProto.FromString(parsed.module), topology, order, hidden=hidden)
    if parsed.left_out:
        named = ", ".join(parsed.left_out)
        target.reasons.append(f"attributes that this XLA does not know are left out: {named}")
    restore_names(target.module, target.order)
    if elided:
        _fill_elided(target, elided)
    return target


_LEFT_OUT = b"{...}"


def _listed(module: Module, text: bytes) -> tuple[dict[str, list[str]], list[tuple[str, str]], int]:
    """Names in order by computation, what constants are elided, and how many bytes those have."""
    order: dict[str, list[str]] = {}
    elided: list[tuple[str, str]] = []
    count = 0
    outline = module.outline
    assert outline is not None
    for computation in outline.computations:
        body = module.body(computation)
        order[computation.name] = [name.decode("utf-8", "replace") for name in body.names() if name]
        if text.find(_LEFT_OUT, outline.start(computation), outline.end(computation)) < 0:
            continue
        instructions = body.instructions
        empty = [instruction for instruction in instructions if instruction.elided]
        elided += [(computation.name, instruction.name) for instruction in empty]
        count += sum(instruction.shape.byte_size for instruction in empty)
    return order, elided, count


_NUMBER = re.compile(r"\.(\d{1,18})$")


def restore_names(module: pb.HloModuleProto, order: Mapping[str, Sequence[str]]) -> None:
    """Give instructions the names that they have in the text, in place.

    XLA's parser numbers a name anew where another computation has it too; the numbers rise in the text's
    order.

    Args:
        module: as parsed.
        order: the names in each computation as they stand in the text.
    """
    for computation in module.computations:
        written = list(order.get(computation.name, ()))
        known = set(written)
        parsed = {instruction.name: instruction for instruction in computation.instructions}
        left: dict[str, list[str]] = {}
        for name in written:
            if name not in parsed:
                left.setdefault(_base(name), []).append(name)
        renumbered = [instruction for name, instruction in parsed.items() if name not in known]
        renumbered.sort(key=lambda instruction: _suffix(instruction.name))
        for instruction in renumbered:
            names = left.get(_base(instruction.name))
            if names:
                instruction.name = names.pop(0)


def _base(name: str) -> str:
    return _NUMBER.sub("", name)


def _suffix(name: str) -> int:
    found = _NUMBER.search(name)
    return int(found[1]) if found else -1


# Elided constants: XLA's parser fills them with a counter, which would give wrong numbers without a word.


def _fill_elided(target: Target, elided: list[tuple[str, str]]) -> None:
    literals = _sibling_literals(target.path) or converted_literals(target.path, target.module)
    wanted = set(elided)
    empty = [
        (computation.name, instruction)
        for computation in target.module.computations
        for instruction in computation.instructions
        if (computation.name, instruction.name) in wanted
    ]
    missing = target.made_up
    for computation, instruction in empty:
        literal = literals.get((computation, instruction.name))
        if literal is not None and list(literal.shape.dimensions) == list(instruction.shape.dimensions):
            instruction.literal.CopyFrom(literal)
        else:
            missing.append((computation, instruction.name))
    if missing:
        named = ", ".join(name for _, name in missing[:3]) + (
            f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        )
        target.reasons.append(
            f"{len(missing)} constants are elided in the text ({named}): their values are made up. "
            "Dump with --xla_dump_large_constants or --xla_dump_hlo_as_proto"
        )


def _sibling_literals(path: Path) -> dict[tuple[str, str], pb.LiteralProto]:
    """The constants of the same stage's proto beside the text, where there is one."""
    stem = re.sub(r"\.txt$", "", path.name)
    for ending in (".hlo.pb", ".hlo.pb.gz"):
        beside = path.with_name(stem + ending)
        if beside.is_file():
            try:
                module = loading.read_proto(beside).module
            except HloTuiError:
                continue
            return {
                (computation.name, instruction.name): instruction.literal
                for computation in module.computations
                for instruction in computation.instructions
                if instruction.opcode == "constant"
            }
    return {}


def choose_inputs(target: Target, program: Program, wanted: str, seed: int) -> Inputs:
    """The inputs that were asked for.

    Args:
        target: the file that runs.
        program: its module.
        wanted: "auto" (a snapshot's, else made), one of `making.PRESETS`, or a file: .npz, .npy or a
            snapshot.
        seed: for made inputs.

    Raises:
        HloTuiError: the file cannot be read or does not fit.
    """
    devices = target.topology.devices
    if wanted in PRESETS:
        return made(program, seed, place(program, target.topology), wanted)
    if wanted == "auto":
        return _automatic(target, program, seed)
    path = Path(wanted)
    if path.suffix in (".npz", ".npy"):
        return from_npz(program, path, place(program, target.topology))
    loaded = loading.read_proto(path)
    if not loaded.arguments:
        raise HloTuiError(
            "no inputs in this file", f"{path} is a {loaded.kind}", "give a snapshot, a .npz or a .npy file"
        )
    return recorded(program, loaded.arguments, loaded.result, str(path), devices)


def _automatic(target: Target, program: Program, seed: int) -> Inputs:
    devices = target.topology.devices
    if target.arguments:
        return recorded(program, target.arguments, target.result, str(target.path), devices)
    for snapshot in sibling_snapshots(target.path):
        try:
            loaded = loading.read_proto(snapshot)
            return recorded(program, loaded.arguments, loaded.result, str(snapshot), devices)
        except HloTuiError:
            # Another module of the same number, or half written: the next one may fit.
            continue
    return made(program, seed, place(program, target.topology))


_BORDERS = frozenset({"xla.sdy.GlobalToLocalShape", "SPMDFullToShardShape"})


def place(program: Program, topology: Topology) -> Placement:
    """How the parameters of a module are spread: by their shardings, where the module is cut already.

    Where it is not, or holds the borders of manual regions, every device is given the whole arrays.
    """
    if topology.devices == 1 or _has_borders(program):
        return Placement(topology.devices)
    tilings = tuple(
        from_op_sharding(parameter.sharding, len(parameter.shape.dimensions), topology.devices)
        for parameter in parameters(program)
    )
    return Placement(topology.devices, tilings, own=topology.replicas > 1)


def _has_borders(program: Program) -> bool:
    return any(op.proto.custom_call_target in _BORDERS for c in program.reachable() for op in c.ops)


def _is_one_program(program: Program) -> bool:
    """Whether a module for many devices is not cut yet, so that one device can run it as the whole program.

    The partitioner gives the entry a name of its own; without it, only communication or a manual region tells
    that each device does something else.
    """
    if program.entry.name.endswith("_spmd") or _has_borders(program):
        return False
    return not any(
        op.opcode in collectives.OPCODES or channels.between_devices(op)
        for c in program.reachable()
        for op in c.ops
    )


def sibling_snapshots(path: Path) -> list[Path]:
    """Snapshots of the same module in the same directory, the newest first."""
    own = parse_path(path.name)
    if own.id is None:
        return []
    found = []
    try:
        for entry in path.parent.iterdir():
            name = parse_path(entry.name)
            if name.execution is not None and (name.id, name.module) == (own.id, own.module):
                found.append((entry.stat().st_mtime_ns, entry))
    except OSError:
        return []
    return [entry for _, entry in sorted(found, reverse=True)]
