"""Protos of all forms as they are printed and read here, compared with what XLA reads in them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from hlo_tui.hlo.loading import open_document, read_proto
from hlo_tui.hlo.module import Module
from tests.corpus import DATA, corpus_dir
from tests.hlo_text.test_against_xla import base
from tests.hlo_text.xla_child import Answer, ask

Rows = Counter[tuple[str, str, str, str, tuple[str, ...]]]


def ours(path: Path) -> tuple[str, Rows]:
    module = Module(open_document(path).source)
    outline = module.scan()
    return module.name, Counter(
        (around.name, base(one.name), one.opcode, one.shape.without_layout(), tuple(map(base, one.operands)))
        for around in outline.computations
        for one in module.body(around).instructions
    )


def theirs(answer: Answer) -> tuple[str, Rows]:
    return answer.module, Counter(
        (computation, base(name), opcode, shape, tuple(map(base, operands)))
        for computation, _, rows in answer.computations
        for name, opcode, shape, operands in rows
    )


def check(paths: list[Path], scratch: Path) -> int:
    """Compare all of them; gives how many XLA reads."""
    plain = {scratch / f"{number}.pb": path for number, path in enumerate(paths)}
    for made, path in plain.items():
        made.write_bytes(read_proto(path).module.SerializeToString())
    read = 0
    for made, answer in ask(list(plain)):
        if answer is not None:
            read += 1
            assert ours(plain[made]) == theirs(answer), plain[made].name
    return read


def is_proto(path: Path) -> bool:
    named = path.name.endswith((".hlo.pb", ".hlo.pb.gz", "hlo_proto.pb"))
    return named or ".snapshot." in path.name or "unoptimized_snapshot" in path.name


def test_our_own(tmp_path: Path) -> None:
    paths = [path for path in sorted((DATA / "step").iterdir()) if is_proto(path)]
    assert check(paths, tmp_path) == len(paths) > 4


def test_real_files(tmp_path: Path) -> None:
    paths = [path for path in sorted(corpus_dir().rglob("*")) if path.is_file() and is_proto(path)]
    chosen = random.Random(0).sample(paths, min(60, len(paths)))
    assert check(chosen, tmp_path) > 0.9 * len(chosen)
