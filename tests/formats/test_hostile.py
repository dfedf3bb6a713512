"""Files that were made to do harm, or that nobody finished: a message, in bounded memory, without waiting."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.opened import Want
from hlo_tui.ui.reading import _document
from hlo_tui.ui.treerows import Place
from tests.formats.samples import varint

# Bytes that a command may take for any of these; the interpreter itself takes some 30 MB.
_MEMORY = 900 << 20
_CHILD = """
import resource, sys
from hlo_tui.cli import main
code = main(["show", sys.argv[1]])
sys.stdout.flush()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
raise SystemExit(code)
"""


def show(path: Path) -> tuple[int, str, int]:
    """Exit code, what was said, and the most memory that was taken."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=False, timeout=120
    )
    said, _, memory = done.stderr.rstrip().rpartition("\n")
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + said, int(memory)


def bomb(first: bytes, megabytes: int) -> bytes:
    """A gzip file of a few bytes that unpacks to so much."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    return (
        packer.compress(first) + b"".join(packer.compress(zeros) for _ in range(megabytes)) + packer.flush()
    )


def nested(number: int) -> bytes:
    """A proto with one field, ten thousand messages deep."""
    data = b""
    for _ in range(10_000):
        data = varint(number << 3 | 2) + varint(len(data)) + data
    return data


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 30)


def _text(words: str) -> object:
    return lambda path: path.write_text(words)


def _bytes(make: object) -> object:
    return lambda path: path.write_bytes(make())  # type: ignore[operator]


REFUSED = {
    "empty.txt": (lambda path: path.touch(), "The file is empty"),
    "empty.hlo.pb": (lambda path: path.touch(), "The file is empty"),
    "sparse.txt": (sparse, "nothing but zeros"),
    "sparse.hlo.pb": (sparse, "too large"),
    "sparse.mlir": (sparse, "nothing but zeros"),
    "sparse.o": (sparse, "nothing but zeros"),
    "endless.txt": (os.mkfifo, "Not a regular file"),
    "endless.hlo.pb": (os.mkfifo, "Not a regular file"),
    "bomb.hlo.pb.gz": (_bytes(lambda: bomb(b"\n\x05hello", 2500)), "unpacks to too much"),
    "bomb.txt.gz": (_bytes(lambda: bomb(b"HloModule m\n", 2500)), "unpacks to too much"),
    "nested.hlo.pb": (_bytes(lambda: nested(1)), "No HLO module"),
    "nested.snapshot.1.pb": (_bytes(lambda: nested(2)), "No HLO module"),
}
# These are shown as far as they go.
SHOWN = {
    "nested.txt": _text("hlo_module {" * 10_000),
    "nested.compile_options.pb": _bytes(lambda: nested(3)),
    "brackets.txt": _text(
        f"HloModule m\n\nENTRY e {{\n  p = {'(' * 100_000}f32[]{')' * 100_000} parameter(0)\n}}\n"
    ),
    "calls.txt": _text("HloModule m\n\nENTRY e {\n" + "  f = f32[] fusion(), calls={\n" * 20_000),
    "deep.jaxpr.txt": _text("{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=" * 20_000),
    "deep.json": _text("[" * 100_000),
    "deep.mlir": _text("module @m {\n" * 20_000),
    "fused.mlir": _text("module @m {\n}\n#loc1 = " + "loc(fused[" * 20_000),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_message_in_bounded_memory(tmp_path: Path, name: str) -> None:
    make, words = REFUSED[name]
    path = tmp_path / name
    make(path)  # type: ignore[operator]
    code, said, memory = show(path)
    assert code == 2
    assert words in said
    assert name in said
    assert memory < _MEMORY


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_deep_is_shown(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    SHOWN[name](path)  # type: ignore[operator]
    code, said, memory = show(path)
    assert (code, bool(said)) == (0, True)
    assert memory < _MEMORY
    if name == "nested.txt":
        assert "nested deeper than can be read" in said


def test_what_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("HloModule m\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("the superuser may read everything")
    code, said, _ = show(path)
    assert code == 2
    assert "Permission denied" in said


@pytest.mark.parametrize("name", ["empty.txt", "sparse.txt", "endless.txt", "nested.hlo.pb"])
def test_the_screen_says_the_same(tmp_path: Path, name: str) -> None:
    make, words = REFUSED[name]
    path = tmp_path / name
    make(path)  # type: ignore[operator]
    with pytest.raises(HloTuiError) as caught:
        _document(Want(Place(name), path), 1)
    assert words in f"{caught.value.title} {caught.value.message}"
