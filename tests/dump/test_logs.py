"""Dumps on standard output: the blocks between XLA's marks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.dump.edges import Edges
from hlo_tui.dump.listing import load
from hlo_tui.dump.logs import holds_blocks, read_log
from hlo_tui.hlo import members
from hlo_tui.hlo.loading import open_document
from tests.corpus import corpus_dir
from tests.dump.making import TEXT

BEFORE = "module_0000.f.before_optimizations.txt"
AFTER = "module_0000.f.cpu_after_optimizations.txt"


def block(name: str, text: str) -> str:
    """What XLA prints: a newline stands before the closing mark whatever the text ends with."""
    return f"*** Begin {name} ***\n{text}\n*** End {name} ***\n"


def contents(path: Path) -> list[tuple[str, str, bool]]:
    data = path.read_bytes()
    found = []
    for one in read_log(path):
        assert one.span is not None
        start, length = one.span
        assert length == one.size
        found.append((one.path, data[start : start + length].decode(), one.complete))
    return found


def test_blocks_among_other_output(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(
        "step 1\n" + block(BEFORE, TEXT) + "loss 0.5\n*** not a mark\n" + block(AFTER, TEXT + TEXT)
    )
    assert contents(log) == [(BEFORE, TEXT, True), (AFTER, TEXT + TEXT, True)]
    assert holds_blocks(log)


def test_titles_become_the_names_that_files_would_have(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(block("module_0001.f.0004.HLO passes [a/b].after_x.before_y.txt", "t"))
    (one,) = read_log(log)
    assert one.path == "module_0001.f.0004.HLO_passes__a_b_.after_x.before_y.txt"
    assert one.name.point is not None
    assert one.name.point.pipeline == "HLO_passes__a_b_"


def test_a_block_without_its_end_goes_to_the_next_mark_or_the_end(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(f"*** Begin {BEFORE} ***\nhalf\n" + block(AFTER, "all") + f"*** Begin {BEFORE} ***\ncut o")
    assert contents(log) == [(BEFORE, "half\n", False), (AFTER, "all", True), (f"2/{BEFORE}", "cut o", False)]


def test_a_name_that_comes_again_is_another_file(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(block(BEFORE, "one") + block(BEFORE, "two"))
    assert contents(log) == [(BEFORE, "one", True), (f"2/{BEFORE}", "two", True)]


def test_what_a_listing_calls_a_block_opens_it(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    title = "module_0001.f.0004.HLO passes [a/b].after_x.before_y.txt"
    texts = [TEXT.replace("jit_f", f"jit_{number}") for number in range(4)]
    names = (BEFORE, title, BEFORE, title)
    log.write_text("".join(block(name, text) for name, text in zip(names, texts, strict=True)))
    for number, (one, text) in enumerate(zip(read_log(log), texts, strict=True), 1):
        for member in (one.path, str(number)):
            source = open_document(log, member).source
            assert source.read(0, source.size).decode() == text


def test_a_log_without_marks(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("hello\n*** End x ***\n*** Begin unfinished\n")
    assert read_log(log) == []
    assert not holds_blocks(tmp_path / "absent")


def test_the_edges_of_a_block(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(block(BEFORE, TEXT) + block(AFTER, TEXT[:-3]))
    whole, cut = read_log(log)
    edges = Edges(os.fspath(log))
    assert edges.module_name(cut) == "jit_f"
    assert (edges.is_whole(whole), edges.is_whole(cut)) == (True, False)


LINE = st.sampled_from(
    [
        *("\n", "x\n", "*** \n", "xx*** Begin a ***\n", "*** Begin a ***\n", "*** End a ***\n", "*** End"),
        *("*** Begin b ***\r\n", "*** End b ***\n", "y" * 50 + "\n", "*** Begin " + "c" * 30 + " ***\n"),
    ]
)


def lines_read_one_by_one(text: str) -> list[tuple[str, str]]:
    """The same blocks, found in the plainest way there is."""
    found: list[tuple[str, str]] = []
    name, body = "", ""
    for line in text.splitlines(keepends=True):
        mark = line.rstrip("\r\n")
        if mark.startswith("*** Begin ") and mark.endswith(" ***"):
            if name:
                found.append((name, body))
            name, body = mark[10:-4], ""
        elif name and mark == f"*** End {name} ***":
            found.append((name, body[:-1]))
            name = ""
        else:
            body += line
    return [*found, (name, body)] if name else found


@given(lines=st.lists(LINE, max_size=30), chunk=st.integers(64, 200))
def test_the_size_of_the_pieces_read_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], chunk: int
) -> None:
    log = tmp_path_factory.getbasetemp() / "pieces.log"
    log.write_bytes("".join(lines).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "_CHUNK", chunk)
        found = [(path.rpartition("/")[2], text) for path, text, _ in contents(log)]
    assert found == lines_read_one_by_one("".join(lines))


@given(data=st.binary(max_size=300))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    log = tmp_path_factory.getbasetemp() / "bytes.log"
    log.write_bytes(b"*** Begin x ***\n" + data)
    (first, *_) = read_log(log)
    assert first.path == "x"


def test_a_line_longer_than_a_piece_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "_CHUNK", 64)
    log = tmp_path / "job.log"
    # At the border of two pieces there is something that looks like a mark.
    log.write_text("z" * 64 + "*** Begin no ***\n" + block(BEFORE, "a" * 200))
    assert contents(log) == [(BEFORE, "a" * 200, True)]


def test_every_stage_in_a_real_log_opens_by_the_name_that_the_listing_gives() -> None:
    log = corpus_dir() / "dumps" / "jax0102-p01_metadata-stdout" / "stdout.log"
    modules = load(log).catalog.modules
    assert len(modules) == 37
    for module in modules:
        assert [stage.label for stage in module.stages] == ["before_optimizations", "cpu_after_optimizations"]
        for stage in module.stages:
            head = open_document(log, stage.main.path).source.read(0, 200).decode()
            assert head.startswith(f"HloModule {module.name},")
