"""Which HLO instruction is made of which line of StableHLO, from XLA itself: every operation gets a name of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_CHILD = """
import json, re, sys
from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from hlo_tui.hlo.printing import print_module
from hlo_tui.hlo.schema import hlo_pb2 as pb

def walk(operation, found):
    for region in operation.regions:
        for block in region.blocks:
            for one in block.operations:
                found.append(one.operation)
                walk(one.operation, found)
    return found

def convert(module):
    code = mlir.module_to_bytecode(module)
    made = _jax.mlir.mlir_module_to_xla_computation(code, use_tuple_args=False, return_tuple=False)
    return pb.HloModuleProto.FromString(made.as_serialized_hlo_module_proto())

def without_places(text):
    text = re.sub(r"^#loc.*$", "", text, flags=re.M)
    previous = None
    while previous != text:
        previous = text
        text = re.sub(r' loc\\((?:"(?:[^"\\\\\\\\]|\\\\\\\\.)*"|[^()"])*\\)', "", text)
    return text

for path in sys.argv[1:]:
    text = open(path).read()
    try:
        with mlir.make_ir_context() as context:
            module = ir.Module.parse(text)
            plain = convert(module)
            placed = ir.Module.parse(without_places(text))
            lines = [
                int(re.search(r":(\\d+):\\d+", str(one.location))[1]) for one in walk(placed.operation, [])
            ]
            for one, line in zip(walk(module.operation, []), lines, strict=True):
                one.location = ir.Location.name(f"line{line}", context=context)
            named = convert(module)
        made = {}
        for ours, theirs in zip(plain.computations, named.computations, strict=True):
            for a, b in zip(ours.instructions, theirs.instructions, strict=True):
                found = re.fullmatch(r"line(\\d+)", b.metadata.op_name)
                made[f"{ours.name}/{a.name}"] = int(found[1]) if found else 0
        print(json.dumps([print_module(plain).text.decode(), made]), flush=True)
    except Exception as error:
        print(json.dumps([repr(error), None]), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Made:
    """The HLO of a module, and for each instruction (COMPUTATION/NAME) the line it is of, from 1; 0 for none."""

    text: str
    lines: dict[str, int]


def ask(paths: list[Path]) -> dict[Path, Made | None]:
    """What XLA makes of files of StableHLO; None where it refuses one, or dies of it."""
    found: dict[Path, Made | None] = {}
    left = list(paths)
    while left:
        command = [sys.executable, "-c", _CHILD, *map(str, left)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = [json.loads(row) for row in done.stdout.splitlines()]
        for path, row in zip(left, rows, strict=False):
            found[path] = Made(*row) if row[1] is not None else None
        left = left[len(rows) :]
        if left:
            found[left.pop(0)] = None
    return found
