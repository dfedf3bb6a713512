"""XLA's own parser in child processes: it aborts the process on some inputs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CHILD = """
import json, sys
from jaxlib import _hlo
from hlo_tui.hlo.schema import hlo_pb2 as pb


def text(shape):
    name = pb.PrimitiveType.Name(shape.element_type).lower()
    if name in ("tuple", "buffer"):
        return "b" * (name == "buffer") + "(" + ", ".join(map(text, shape.tuple_shapes)) + ")"
    dynamic = list(shape.is_dynamic_dimension) or [False] * len(shape.dimensions)
    pairs = zip(shape.dimensions, dynamic)
    sizes = ",".join("?" if size == -2**63 else "<=" * bound + str(size) for size, bound in pairs)
    return f"{name.removesuffix('_type')}[{sizes}]"


def answer(path):
    data = open(path, "rb").read()
    if path.endswith(".pb"):
        module = _hlo.HloModule.from_serialized_hlo_module_proto(data)
    else:
        module = _hlo.hlo_module_from_text(data.decode("utf-8", "surrogateescape"))
    proto = pb.HloModuleProto.FromString(module.as_serialized_hlo_module_proto())
    computations = []
    for computation in proto.computations:
        names = {one.id: one.name for one in computation.instructions}
        rows = [
            [one.name, one.opcode, text(one.shape), [names[operand] for operand in one.operand_ids]]
            for one in computation.instructions
        ]
        computations.append([computation.name, computation.id == proto.entry_computation_id, rows])
    return [proto.name, computations]


for path in sys.argv[1:]:
    try:
        result = answer(path)
    except Exception:
        result = None
    print(json.dumps(result), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What XLA reads in a text: the module's name, and for each computation its name, whether it is the
    entry, and its instructions as name, opcode, shape without layout and operand names."""

    module: str
    computations: tuple[tuple[str, bool, tuple[tuple[str, str, str, tuple[str, ...]], ...]], ...]


def ask(paths: list[Path]) -> Iterator[tuple[Path, Answer | None]]:
    """What XLA reads in each file of HLO text, or of a HloModuleProto (.pb); None where it refuses it or dies of it."""
    left = list(paths)
    while left:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, *map(str, left)], capture_output=True, text=True, check=False
        )
        lines = done.stdout.splitlines()
        for path, line in zip(left, lines, strict=False):
            yield path, _answer(json.loads(line))
        left = left[len(lines) :]
        if left:
            assert done.returncode != 0, "the child ended before its work"
            yield left.pop(0), None


def _answer(found: list | None) -> Answer | None:
    if found is None:
        return None
    module, computations = found
    return Answer(
        module,
        tuple(
            (name, entry, tuple((row[0], row[1], row[2], tuple(row[3])) for row in rows))
            for name, entry, rows in computations
        ),
    )
