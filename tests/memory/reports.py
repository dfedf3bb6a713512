"""The dumps that the tests of memory read: those made by our own programs, and those of the collection."""

from __future__ import annotations

import gzip
from pathlib import Path

from hlo_tui.hlo.schema import hlo_pb2 as pb
from tests.corpus import DATA, corpus_dir

OWN = DATA / "memory"
STEM = ".cpu_after_optimizations"


def own(function: str, ending: str) -> Path:
    """A file of one of our own modules, such as `own("train", "-live-range.txt")`."""
    (found,) = OWN.glob(f"module_*.jit_{function}{STEM}{ending}")
    return found


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").split("\n")


def proto(path: Path) -> pb.HloProto:
    data = path.read_bytes()
    return pb.HloProto.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)


def collected(pattern: str) -> list[Path]:
    """Files of the collection, wherever they are in it; skips the test where it is not there."""
    return sorted(corpus_dir().rglob(pattern))


def beside(path: Path, ending: str) -> Path | None:
    """The file of the same dump point with another ending, where it is there."""
    stem = path.name
    for known in (
        ".hlo.pb.gz",
        ".hlo.pb",
        "-buffer-assignment.txt",
        "-live-range.txt",
        "-memory-usage-report.txt",
    ):
        stem = stem.removesuffix(known)
    found = path.with_name(stem + ending)
    return found if found.is_file() else None
