"""Real files, compared with what XLA's own parser reads in them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import FileSource
from tests.corpus import corpus_dir
from tests.hlo_text.samples import HAND_WRITTEN, STEP
from tests.hlo_text.xla_child import Answer, ask

_SIDE_FILE = re.compile(r"buffer-assignment|live-range|memory-usage|thunk|debug_options")


def is_hlo(path: Path) -> bool:
    named = path.suffix in (".txt", ".hlo") and not _SIDE_FILE.search(path.name)
    return named and (path.suffix == ".hlo" or b"HloModule" in path.read_bytes()[: 1 << 16])


def base(name: str) -> str:
    """A name without the numbers that XLA adds to names that are there already."""
    return re.sub(r"(?:\.\d+)+$", "", name)


def differences(path: Path, answer: Answer) -> list[str]:
    """Where our reading of a file is not XLA's."""
    module = Module(FileSource(path))
    outline = module.scan()
    found = []
    if not outline.header.missing and module.name != answer.module:
        found.append(f"module {module.name}, not {answer.module}")
    ours = {computation.name: computation for computation in outline.computations}
    if sorted(ours) != sorted(name for name, _, _ in answer.computations):
        found.append(f"computations {sorted(set(ours) ^ {name for name, _, _ in answer.computations})}")
    marked = any(computation.is_entry for computation in outline.computations)
    for name, entry, rows in answer.computations:
        if name not in ours:
            continue
        body = module.body(name)
        if marked and ours[name].is_entry != entry:
            found.append(f"{name} is the entry or not")
        if not len(body) == ours[name].instructions == len(rows):
            found.append(f"{name} has {len(body)}, {ours[name].instructions} instructions, not {len(rows)}")
        mine = Counter(
            (base(i.name), i.opcode, i.shape.without_layout(), tuple(map(base, i.operands)))
            for i in body.instructions
        )
        theirs = Counter((base(n), opcode, shape, tuple(map(base, o))) for n, opcode, shape, o in rows)
        found += [f"{name}: {row}" for row in (mine - theirs) + (theirs - mine)]
        found += [f"{name}: {i.name} is damaged: {i.damaged}" for i in body.instructions if i.damaged]
        found += [f"{name}: {i.name} calls {c}" for i in body.instructions for c in i.called if c not in ours]
    if outline.instructions != sum(len(rows) for _, _, rows in answer.computations):
        found.append(f"{outline.instructions} instructions")
    return found


def check(paths: list[Path]) -> int:
    """Compare all of them; gives how many XLA reads."""
    read = 0
    wrong = {}
    for path, answer in ask(paths):
        if answer is not None:
            read += 1
            wrong[path.name] = differences(path, answer)
    assert {name: found[:3] for name, found in wrong.items() if found} == {}
    return read


def test_our_own_samples(tmp_path: Path) -> None:
    (tmp_path / "step.txt").write_text(STEP)
    (tmp_path / "written.hlo").write_text(HAND_WRITTEN)
    assert check(sorted(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "part",
    [
        "public/xla",
        "public/mi300",
        "dumps/*-p01_metadata-default",
        "dumps/*p02*",
        "dumps/tf-*",
        "dumps/txla-*",
    ],
)
def test_real_files(part: str) -> None:
    root = corpus_dir()
    paths = [path for top in sorted(root.glob(part)) for path in sorted(top.rglob("*")) if path.is_file()]
    paths = [path for path in paths if is_hlo(path)]
    assert check(paths) > 0.8 * len(paths)


def test_passes_of_one_module() -> None:
    root = corpus_dir()
    paths = sorted((root / "dumps" / "jax0102-p01_metadata-passes").glob("module_0020.*.txt"))
    paths = [path for path in paths if is_hlo(path)]
    assert check(paths) == len(paths)
