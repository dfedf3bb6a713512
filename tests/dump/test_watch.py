"""The watcher on a real directory: what it tells in the end, and in how many pieces; never how fast."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hlo_tui.dump import watch
from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import Changes, scan
from hlo_tui.dump.watch import Watcher
from tests.dump.making import TEXT, write

BEFORE = "module_0001.f.before_optimizations.txt"
# How long an outcome may take before the test gives up; it goes on as soon as the outcome is there.
PATIENCE = 30.0


class Listener:
    """Keeps what a watcher told."""

    def __init__(self) -> None:
        self.changes: list[Changes] = []
        self.catalog = Catalog()
        self._news = threading.Condition()

    def __call__(self, changes: Changes) -> None:
        with self._news:
            self.changes.append(changes)
            self.catalog.apply(changes)
            self._news.notify_all()

    def wait(self, outcome: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(outcome, PATIENCE)

    def paths(self) -> dict[str, bool]:
        """What is there and whether it is complete, as told until now."""
        return {path: file.complete for path, file in self.catalog.files.items()}

    def notices(self) -> str:
        return "\n".join(notice for changes in self.changes for notice in changes.notices)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture(params=[False, True], ids=["events", "poll"])
def poll(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def begin(listener: Listener) -> Iterator[Callable[..., Watcher]]:
    watchers: list[Watcher] = []

    def start(root: Path, **options: Any) -> Watcher:
        watcher = Watcher(root, listener, **options)
        watchers.append(watcher)
        watcher.start()
        listener.wait(lambda: bool(listener.changes))
        return watcher

    yield start
    for watcher in watchers:
        watcher.stop()


def test_what_is_there_is_told_first_and_at_once(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], poll: bool
) -> None:
    for name in (BEFORE, "module_0001.f/module.mlir", "a/b/notes.txt"):
        os.utime(write(tmp_path, name), ns=(10**9, 10**9))
    os.utime(write(tmp_path, "module_0002.g.before_optimizations.txt", TEXT[:-2]), ns=(10**9, 10**9))
    begin(tmp_path, poll=poll)
    assert len(listener.changes) == 1
    assert listener.paths() == {
        BEFORE: True,
        "module_0001.f/module.mlir": True,
        "a/b/notes.txt": True,
        "module_0002.g.before_optimizations.txt": False,
    }


def test_new_files_changes_and_removals(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], poll: bool
) -> None:
    watcher = begin(tmp_path, poll=poll)
    assert watcher.mode == ("poll" if poll else "events")
    write(tmp_path, BEFORE)
    listener.wait(lambda: listener.paths() == {BEFORE: True})
    write(tmp_path, "module_0001.f/deep/er/module.mlir", "x")
    listener.wait(lambda: listener.paths().get("module_0001.f/deep/er/module.mlir") is True)
    with open(tmp_path / BEFORE, "a") as more:
        more.write(TEXT)
    listener.wait(lambda: listener.catalog.files[BEFORE].size == 2 * len(TEXT))
    (tmp_path / BEFORE).unlink()
    shutil.rmtree(tmp_path / "module_0001.f")
    listener.wait(lambda: listener.paths() == {})


def test_a_file_is_incomplete_until_its_writer_is_done(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], poll: bool
) -> None:
    begin(tmp_path, poll=poll)
    with open(tmp_path / BEFORE, "w") as writer:
        writer.write(TEXT[:20])
        writer.flush()
        listener.wait(lambda: listener.paths() == {BEFORE: False})
        writer.write(TEXT[20:])
    listener.wait(lambda: listener.paths() == {BEFORE: True})


def test_a_text_that_was_cut_off_stays_incomplete(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher]
) -> None:
    begin(tmp_path)
    write(tmp_path, BEFORE, TEXT[:-2])
    write(tmp_path, "module_0002.f.before_optimizations.txt")
    listener.wait(lambda: listener.paths().get("module_0002.f.before_optimizations.txt") is True)
    listener.wait(lambda: BEFORE in listener.paths())
    assert listener.paths()[BEFORE] is False


def test_a_burst_comes_in_few_pieces(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher]
) -> None:
    begin(tmp_path)
    names = [f"module_{number:04d}.f.before_optimizations.txt" for number in range(500)]
    clock = time.monotonic()
    for name in names:
        write(tmp_path, name)
    listener.wait(lambda: listener.paths() == dict.fromkeys(names, True))
    took = time.monotonic() - clock
    # No more than one piece in SPACING, however long the machine took for it.
    assert len(listener.changes) - 1 <= took / 0.1 + 3


def test_a_watcher_and_a_writer_agree_in_the_end(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], poll: bool
) -> None:
    root = tmp_path / "dump"
    begin(root, poll=poll)

    def job() -> None:
        for number in range(60):
            write(root, f"module_{number % 20:04d}.f.before_optimizations.txt", TEXT * (1 + number % 3))
            write(root, f"module_{number % 20:04d}.f/module.mlir")
            if number % 7 == 3:
                (root / f"module_{number % 20:04d}.f.before_optimizations.txt").unlink()
            if number % 25 == 24:
                shutil.rmtree(root / "module_0003.f", ignore_errors=True)

    writer = threading.Thread(target=job)
    writer.start()
    writer.join()
    truth = {path: file.stamp for path, file in scan(os.fspath(root)).files.items()}
    listener.wait(lambda: {path: file.stamp for path, file in listener.catalog.files.items()} == truth)
    listener.wait(lambda: all(listener.paths().values()))


def test_a_root_that_comes_goes_and_comes_back(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], poll: bool
) -> None:
    root = tmp_path / "not" / "yet"
    begin(root, poll=poll)
    assert listener.changes[0].notices == (f"{root} is not there yet; waiting for it",)
    write(root, BEFORE)
    listener.wait(lambda: listener.paths() == {BEFORE: True})
    assert f"{root} is there now" in listener.notices()
    shutil.rmtree(root)
    listener.wait(lambda: listener.paths() == {})
    assert f"{root} is gone; waiting for it" in listener.notices()
    write(root, "module_0002.g.before_optimizations.txt")
    listener.wait(lambda: listener.paths() == {"module_0002.g.before_optimizations.txt": True})
    assert f"{root} is there again" in listener.notices()


def test_a_file_in_the_place_of_the_root(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher]
) -> None:
    begin(write(tmp_path, "file\x1b[2J"))
    assert "is not a directory" in listener.notices()
    assert "\x1b" not in listener.notices()


def test_a_replaced_file_is_said_to_be_one(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], poll: bool
) -> None:
    write(tmp_path, BEFORE)
    begin(tmp_path, poll=poll)
    listener.wait(lambda: listener.paths() == {BEFORE: True})
    os.replace(write(tmp_path, "new", TEXT + "\n"), tmp_path / BEFORE)
    listener.wait(
        lambda: listener.paths() == {BEFORE: True} and listener.catalog.files[BEFORE].size > len(TEXT)
    )
    listener.wait(lambda: f"{BEFORE} was replaced by another file" in listener.notices())


def test_a_directory_that_may_not_be_read(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "closed/x.hlo")
    write(tmp_path, "open/y.hlo")
    real, closed = os.scandir, threading.Event()

    def refuse(path: Any) -> Any:
        if closed.is_set() and os.fspath(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    begin(tmp_path, poll=True)
    listener.wait(lambda: listener.paths() == {"closed/x.hlo": True, "open/y.hlo": True})
    closed.set()
    listener.wait(lambda: "closed is left out: permission denied" in listener.notices())
    # What was seen there before is not said to be gone.
    assert set(listener.paths()) == {"closed/x.hlo", "open/y.hlo"}
    closed.clear()
    listener.wait(lambda: "closed is not left out any more" in listener.notices())


def test_no_watches_left_means_looking_around(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(watch, "Events", full)
    watcher = begin(tmp_path)
    assert watcher.mode == "poll"
    assert "limit for watches (fs.inotify) is reached; looking every 0.5 s instead" in listener.notices()
    write(tmp_path, BEFORE)
    listener.wait(lambda: listener.paths() == {BEFORE: True})


def test_a_network_means_looking_around(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "silence_at", lambda _: "nfs4")
    watcher = begin(tmp_path)
    assert watcher.mode == "poll"
    assert f"{tmp_path} is on nfs4" in listener.notices()


def test_changes_without_events_are_found_and_make_it_look_more_often(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        """Events that never come, as behind a network file system of an unknown name."""

        def __init__(self, *_: object) -> None: ...

        def alive(self) -> bool:
            return True

        def stop(self) -> None: ...

    monkeypatch.setattr(watch, "Events", Silent)
    monkeypatch.setattr(watch, "LOOK_BEHIND_EVENTS", 0.3)
    monkeypatch.setattr(watch, "UNANNOUNCED", 0.1)
    begin(tmp_path)
    write(tmp_path, BEFORE)
    listener.wait(lambda: listener.paths() == {BEFORE: True})
    listener.wait(lambda: "some changes come without events" in listener.notices())


def test_events_that_die_are_replaced_by_looking(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LOOK_BEHIND_EVENTS", 0.1)
    monkeypatch.setattr(watch.Events, "alive", lambda _: False)
    watcher = begin(tmp_path)
    assert watcher.mode == "poll"
    assert "events have stopped coming" in listener.notices()


def test_after_stop_nothing_is_told(tmp_path: Path, listener: Listener, poll: bool) -> None:
    watcher = Watcher(tmp_path, listener, poll=poll)
    watcher.start()
    listener.wait(lambda: bool(listener.changes))
    watcher.stop()
    assert not any(thread.name == "hlo-tui-watch" and thread.is_alive() for thread in threading.enumerate())
    told = len(listener.changes)
    write(tmp_path, BEFORE)
    watcher.stop()
    assert len(listener.changes) == told


def test_a_watcher_that_was_never_started_can_be_stopped(tmp_path: Path, listener: Listener) -> None:
    Watcher(tmp_path, listener).stop()
    assert listener.changes == []


def test_nothing_is_written_into_the_directory(
    tmp_path: Path, listener: Listener, begin: Callable[..., Watcher]
) -> None:
    path = write(tmp_path, BEFORE)
    os.utime(path, ns=(10**9, 10**9))
    os.utime(tmp_path, ns=(10**9, 10**9))
    begin(tmp_path).stop()
    assert os.listdir(tmp_path) == [BEFORE]
    assert tmp_path.stat().st_mtime_ns == path.stat().st_mtime_ns == 10**9
