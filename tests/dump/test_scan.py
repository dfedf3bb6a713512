"""One walk over a directory, and what it costs."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from hlo_tui.dump.edges import Edges
from hlo_tui.dump.files import Stamp, new_file, scan
from tests.dump.making import TEXT, write


def test_every_file_below_the_root_once(tmp_path: Path) -> None:
    names = ["module_0001.f.before_optimizations.txt", "module_0001.f/module.mlir", "a/b/c.txt", ".hidden"]
    for name in names:
        write(tmp_path, name, name)
    found = scan(os.fspath(tmp_path))
    assert sorted(found.files) == sorted(names)
    for name, file in found.files.items():
        status = (tmp_path / name).stat()
        assert file.stamp == Stamp(len(name), status.st_mtime_ns, status.st_ino)
    assert (found.missing, found.unread) == (False, {})


def test_links_and_other_things(tmp_path: Path) -> None:
    write(tmp_path, "real.hlo")
    (tmp_path / "link.hlo").symlink_to("real.hlo")
    (tmp_path / "nowhere.hlo").symlink_to("absent")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe.hlo")
    assert sorted(scan(os.fspath(tmp_path)).files) == ["link.hlo", "real.hlo"]


def test_names_that_are_not_text(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/module_0001.\xff\x1b.before_optimizations.txt")).touch()
    (path,) = scan(os.fspath(tmp_path)).files
    assert os.fsencode(path) == b"module_0001.\xff\x1b.before_optimizations.txt"


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    assert scan(os.fspath(tmp_path / "absent")).missing
    assert scan(os.fspath(write(tmp_path, "file"))).missing


def test_a_directory_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "closed/x.hlo")
    write(tmp_path, "open/y.hlo")
    real = os.scandir

    def refuse(path: Any) -> Any:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = scan(os.fspath(tmp_path))
    assert sorted(found.files) == ["open/y.hlo"]
    assert found.unread == {"closed": "permission denied"}


def test_a_walk_can_be_stopped(tmp_path: Path) -> None:
    for index in range(5):
        write(tmp_path, f"d{index}/x.hlo")
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 3

    assert scan(os.fspath(tmp_path), stop=stop).directories == 3


def test_twenty_thousand_files_cost_one_look_each_and_no_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 20_000
    for index in range(count):
        os.close(os.open(tmp_path / f"module_{index:04d}.f.before_optimizations.txt", os.O_CREAT))
    calls: dict[str, int] = {"stat": 0, "open": 0, "scandir": 0}
    real = os.scandir

    class Counted:
        """A directory entry that counts the looks that ask the system."""

        def __init__(self, entry: os.DirEntry[str]) -> None:
            self._entry = entry
            self.name = entry.name

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            assert not follow_symlinks
            return self._entry.is_dir(follow_symlinks=False)

        def is_file(self) -> bool:
            return self._entry.is_file()

        def stat(self) -> os.stat_result:
            calls["stat"] += 1
            return self._entry.stat()

    class Directory:
        def __init__(self, path: str) -> None:
            calls["scandir"] += 1
            self._entries = real(path)

        def __enter__(self) -> Any:
            return (Counted(entry) for entry in self._entries)

        def __exit__(self, *_: object) -> None:
            self._entries.close()

    def no_open(*_: object, **__: object) -> int:
        calls["open"] += 1
        raise AssertionError("nothing is to be opened")

    monkeypatch.setattr(os, "scandir", Directory)
    monkeypatch.setattr(os, "stat", no_open)
    monkeypatch.setattr(os, "open", no_open)
    found = scan(os.fspath(tmp_path))
    assert len(found.files) == count
    assert calls == {"stat": count, "open": 0, "scandir": 1}
    again = scan(os.fspath(tmp_path), found.files)
    assert all(again.files[path] is file for path, file in found.files.items())
    assert calls == {"stat": 2 * count, "open": 0, "scandir": 2}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (TEXT, True),
        (TEXT + "\n \n\n", True),
        (TEXT.replace("}\n", "} // main.13\n"), True),
        (TEXT.replace("\n", "\r\n"), True),
        (TEXT[:-2], False),
        ("", False),
        ("}", True),
        ("HloModule f\n" + "x" * 2000, False),
        ("x" * 2000 + "\n}\n", True),
    ],
)
def test_a_text_is_whole_when_its_last_line_closes(tmp_path: Path, text: str, whole: bool) -> None:
    path = "module_0001.f.before_optimizations.txt"
    size = len(write(tmp_path, path, text).read_bytes())
    file = new_file(path, Stamp(size, 0, 0), None)
    assert Edges(os.fspath(tmp_path)).is_whole(file) is whole


def test_a_directory_whose_files_may_not_be_looked_at_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the right to read a directory and not to search it, names are all that the system gives."""

    class Entry:
        def __init__(self, name: str, link: bool) -> None:
            self.name, self.is_link = name, link

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            return False

        def is_symlink(self) -> bool:
            return self.is_link

        def is_file(self) -> bool:
            if self.is_link:
                raise PermissionError(errno.EACCES, "Permission denied")
            return True

        def stat(self) -> os.stat_result:
            raise PermissionError(errno.EACCES, "Permission denied")

    for entries, unread in (
        ([Entry("a.hlo", False), Entry("b.hlo", True)], {"": "permission denied"}),
        ([Entry("b.hlo", True)], {}),
    ):
        monkeypatch.setattr(os, "scandir", lambda _, entries=entries: nullcontext(entries))
        found = scan(os.fspath(tmp_path))
        assert (found.files, found.unread) == ({}, unread)


def test_nothing_bad_is_said_of_a_text_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job in a container writes as another user; its files are no more cut off for that."""

    def refuse(path: str, flags: int) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    path = "module_0001.f.before_optimizations.txt"
    file = new_file(path, Stamp(len(write(tmp_path, path, TEXT).read_bytes()), 0, 0), None)
    monkeypatch.setattr(os, "open", refuse)
    edges = Edges(os.fspath(tmp_path))
    assert (edges.is_whole(file), edges.module_name(file)) == (True, "")


def test_the_edges_of_what_is_not_there_or_was_cut_short(tmp_path: Path) -> None:
    edges = Edges(os.fspath(tmp_path))
    path = "module_0001.before_optimizations.txt"
    file = new_file(path, Stamp(10_000, 0, 0), None)
    assert (edges.is_whole(file), edges.module_name(file)) == (True, "")
    write(tmp_path, path, "HloModule jit_f.1, is_scheduled=true\n}\n")
    assert (edges.is_whole(file), edges.module_name(file)) == (False, "jit_f.1")
    os.mkfifo(tmp_path / "pipe.txt")
    assert edges.module_name(new_file("pipe.txt", Stamp(10, 0, 0), None)) == ""
