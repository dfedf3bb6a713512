"""Before against after, operation by operation: the same instructions of two stages on the same inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.engine import Engine
from hlo_tui.passes.links import ABSORBED, SAME

Json = dict[str, Any]
_SHOWN = 40
_NO_VALUE = frozenset(("parameter", "constant", "tuple", "get-tuple-element", "iota", "after-all"))


def compare_values(
    a: Path, b: Path, inputs: str = "auto", seed: int = 0, engine: Engine | None = None
) -> list[Json]:
    """Run two stages in body grain on the same inputs and compare what instructions of both computed.

    Args:
        a, b: files of the stages.
        inputs, seed: as for a replay.
        engine: one to run them in; it is closed afterwards.

    Returns:
        A row for each pair of instructions that ran in both, in the order of the run of the first stage: names, how
        they belong together, what changed in the instruction, state ("equal", "within", "differs", ...), errors, and a
        summary of each value.

    Raises:
        HloTuiError: a file or the inputs cannot be used; an EngineError where XLA cannot run one of the stages.
    """
    reader = Reader()
    x, y = (Text(open_document(path).source, reader) for path in (a, b))
    comparison = Comparison(x, y)
    comparison.run()
    pairs = []
    for block in x.blocks.values():
        for at, name in enumerate(block.names):
            parsed = block.parsed(at)
            if parsed is None or parsed.opcode in _NO_VALUE:
                continue
            for link in comparison.links.after(block.name, name)[:1]:
                if link.how != ABSORBED:
                    other = [link.place.computation, link.place.name]
                    what = [] if link.change is None else list(link.change.what)
                    pairs.append({"a": [block.name, name], "b": other, "how": link.how, "what": what})
    devices = max(
        header.num_partitions * header.replica_count for header in (x.outline.header, y.outline.header)
    )
    engine = engine or Engine()
    try:
        answer = engine.ask(
            "compare.pairs",
            {
                "a": str(a),
                "b": str(b),
                "pairs": pairs,
                "inputs": inputs,
                "seed": seed,
                "tolerance": None,
                "platform": "cpu",
                "devices": min(devices, 1024),
            },
        )
    finally:
        engine.close()
    rows: list[Json] = answer["rows"]
    return rows


def to_text(rows: list[Json]) -> str:
    """The rows for people: those that differ, the first of them first."""
    differing = [row for row in rows if row["state"] == "differs"]
    lines = [f"{len(rows):,} instructions ran in both, {len(differing):,} differ"]
    for row in differing[:_SHOWN]:
        a, b = "/".join(row["a"]), "/".join(row["b"])
        how = "" if row["how"] == SAME else f" ({row['how']})"
        where = "NaN on one side only" if row["nan_only"] else f"largest error {row['max_abs']}"
        lines.append(f"{a} and {b}{how}: {row['out']:,} of {row['count']:,} out of tolerance, {where}")
        lines += [f"    element {one['element']}: {one['a']} and {one['b']}" for one in row["worst"][:2]]
    if len(differing) > _SHOWN:
        lines.append(f"... {len(differing) - _SHOWN:,} more: --json has all")
    return "\n".join(visible(line) for line in lines)
