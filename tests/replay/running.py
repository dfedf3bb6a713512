"""Running one instruction of a module text through the engine's lowering, as one slice."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.collectives import ONE_DEVICE
from hlo_tui.replay.program import Program
from hlo_tui.replay.slices import Slice, SliceModule, value_shape


def program_of(text: str) -> Program:
    """A module text as the engine walks it."""
    return Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))


def run_text(backend: xla.Backend, text: str, *arguments: Any) -> Any:
    """The entry's result for these arguments, everything in one slice."""
    program = program_of(text)
    entry = program.entry
    module = SliceModule(program, ONE_DEVICE, 1)
    ops = [op.index for op in entry.ops if op.opcode != "parameter"]
    cut = module.cut(entry, ops, entry.parameters, [entry.root])
    ins = [value_shape(entry.ops[i]) for i in entry.parameters]
    run = Slice(backend.compile(cut), ins, [value_shape(entry.ops[entry.root])], module.omitted)
    (result,) = run(list(arguments))
    return tuple(map(np.asarray, result)) if isinstance(result, tuple) else np.asarray(result)


def call_text(
    target: str, shapes: list[str], result: str, config: str = "", fields: str = "", opcode: str = ""
) -> str:
    """A module whose entry is one custom call (or instruction `opcode`) of its parameters."""
    lines = [f"  p{n} = {shape} parameter({n})" for n, shape in enumerate(shapes)]
    operands = ", ".join(f"p{n}" for n in range(len(shapes)))
    attributes = [fields] if fields else []
    if not opcode:
        attributes.append(f'custom_call_target="{target}"')
    if config:
        attributes.append(f"backend_config={config}")
    lines.append(f"  ROOT r = {result} {opcode or 'custom-call'}({operands}), {', '.join(attributes)}")
    return "HloModule m\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"
