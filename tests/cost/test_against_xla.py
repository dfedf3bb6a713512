"""Every count against XLA's own cost analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlo_tui.cost.analysis import Analysis
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import FileSource
from tests.corpus import DATA, corpus_dir
from tests.cost.xla_child import ask


def compared(paths: list[Path]) -> int:
    count = 0
    for path, answer in ask(paths):
        # What a library call does XLA does not say: it counts minus one.
        if answer is None or "custom-call(" in path.read_text("utf-8", "replace"):
            continue
        module = Module(FileSource(path))
        entry = module.scan().entry
        if entry is None:
            continue
        found = Analysis(module).computation(entry.name)
        # XLA adds up in single precision.
        assert [found.flops, found.transcendentals, found.bytes] == pytest.approx(answer, rel=1e-5), path.name
        count += 1
    return count


def test_our_own_programs():
    paths = [*DATA.glob("memory/*.txt"), *DATA.glob("replay/*optimizations.txt"), *DATA.glob("passes/*.txt")]
    assert compared(paths) > 60


def test_real_dumps():
    assert compared(sorted(corpus_dir().glob("dumps/jax0102-p0*/*_optimizations.txt"))) > 500


def test_the_tests_and_benchmarks_of_xla():
    assert compared(sorted(corpus_dir().glob("public/xla/**/*.hlo"))) > 100
