"""Memory is estimated before it is taken, and counted while it is; time is limited; what hangs is known before."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hlo_tui.errors import EngineError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import memory, xla
from hlo_tui.replay.guard import Guard
from hlo_tui.replay.limits import Room, estimate
from hlo_tui.replay.opening import open_target
from hlo_tui.replay.program import Program
from hlo_tui.replay.stopspec import parse_spec
from tests.replay.sessions import go, opened, until

MIB = 1 << 20


def program(text: str) -> Program:
    return Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))


# Estimates, counted by hand. f32[256,1024] is 1 MiB.

CHAIN = """
HloModule chain

ENTRY e {
  p = f32[256,1024] parameter(0)
  a = f32[256,1024] sine(p)
  b = f32[256,1024] cosine(a)
  c = f32[256,1024] tanh(b)
  ROOT t = (f32[256,1024], f32[256,1024]) tuple(b, c)
}
"""


def test_a_chain_needs_what_is_alive_at_one_time() -> None:
    # At c: b and c. The parameter is counted as an input, and a is over.
    assert estimate(program(CHAIN), 1, entered=False) == (MIB, 2 * MIB, "b")


def test_each_device_has_values_of_its_own() -> None:
    assert estimate(program(CHAIN), 8, entered=False)[:2] == (8 * MIB, 16 * MIB)


LOOP = """
HloModule loop

body {
  s = (s32[], f32[256,1024]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[256,1024] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  w = f32[256,1024] sine(v)
  x = f32[256,1024] add(w, v)
  ROOT t = (s32[], f32[256,1024]) tuple(m, x)
}

cond {
  s = (s32[], f32[256,1024]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant(10)
  ROOT c = pred[] compare(n, z), direction=LT
}

ENTRY e {
  v = f32[256,1024] parameter(0)
  n = s32[] constant(0)
  y = f32[256,1024] negate(v)
  t = (s32[], f32[256,1024]) tuple(n, y)
  ROOT loop = (s32[], f32[256,1024]) while(t), condition=cond, body=body
}
"""


def test_a_loop_needs_what_its_body_needs_and_what_goes_into_it() -> None:
    inputs, live, widest = estimate(program(LOOP), 1, entered=False)
    # y goes in, and inside w and x are alive together; the counters are a few bytes.
    assert inputs == MIB
    assert 0 <= live - 3 * MIB < 64
    assert widest == "loop"


FUSED = """
HloModule fused

inside {
  p = f32[256,1024] parameter(0)
  a = f32[256,1024] sine(p)
  b = f32[256,1024] cosine(p)
  c = f32[256,1024] tanh(p)
  d = f32[256,1024] add(a, b)
  ROOT e = f32[256,1024] add(d, c)
}

ENTRY e {
  p = f32[256,1024] parameter(0)
  ROOT f = f32[256,1024] fusion(p), kind=kLoop, calls=inside
}
"""


def test_a_fusion_that_is_entered_needs_more() -> None:
    assert estimate(program(FUSED), 1, entered=False).live == MIB
    # XLA's parser puts d right behind a and b: these three.
    assert estimate(program(FUSED), 1, entered=True).live == 3 * MIB


def test_too_much_is_refused_with_the_numbers_unless_it_is_allowed() -> None:
    needs = estimate(program(CHAIN), 1, entered=False)
    with pytest.raises(EngineError) as refused:
        Room(free=lambda: 5 * MIB).check(needs)
    assert "3.15 MB of memory are needed, 5.24 MB are free" in str(refused.value)
    assert "inputs 1.05 MB" in str(refused.value)
    assert "2.1 MB at b" in str(refused.value)
    assert "--allow-memory" in str(refused.value)
    Room(free=lambda: 6 * MIB).check(needs)
    Room(allowed=True, free=lambda: 1).check(needs)
    Room(free=lambda: None).check(needs)


HUGE = """
HloModule huge

ENTRY e {
  p = f32[1048576,1048576] parameter(0)
  ROOT a = f32[1048576,1048576] sine(p)
}
"""
ELIDED = """
HloModule elided

ENTRY e {
  c = f32[1048576,1048576] constant({...})
  z = s32[] constant(0)
  ROOT a = f32[1,1] dynamic-slice(c, z, z), dynamic_slice_sizes={1,1}
}
"""


@pytest.mark.parametrize("text", [HUGE, ELIDED])
def test_a_huge_module_is_refused_before_anything_is_allocated(tmp_path: Path, text: str) -> None:
    path = tmp_path / "huge.txt"
    path.write_text(text)
    with opened(path) as session:
        assert session.state.status == "failed"
        assert "too much memory" in str(session.state.problem)
        # Nothing died: the same worker answers.
        assert session._client is not None


def test_elided_constants_are_counted_before_the_parser_makes_them(tmp_path: Path) -> None:
    path = tmp_path / "elided.txt"
    path.write_text(ELIDED)
    with pytest.raises(EngineError, match="too much memory"):
        open_target(path, room=Room(free=lambda: 1 << 40))


# What the system says.


def system(tmp_path: Path, cgroup: str, files: dict[str, str]) -> int | None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    (tmp_path / "proc" / "self" / "cgroup").write_text(cgroup)
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return memory.available(tmp_path / "proc", tmp_path / "cgroup")


def test_without_a_limit_it_is_what_the_machine_has(tmp_path: Path) -> None:
    assert system(tmp_path, "0::/user/me\n", {"user/me/memory.max": "max\n"}) == 4000 * 1024


def test_the_groups_above_limit_too(tmp_path: Path) -> None:
    files = {
        "user/memory.max": "1000000\n",
        "user/memory.current": "900000\n",
        "user/memory.stat": "anon 1\ninactive_file 50000\n",
        "user/me/memory.max": "800000\n",
        "user/me/memory.current": "100000\n",
    }
    assert system(tmp_path, "0::/user/me\n", files) == 150_000


def test_the_first_version_of_groups(tmp_path: Path) -> None:
    files = {
        "memory/a/memory.limit_in_bytes": "5000\n",
        "memory/a/memory.usage_in_bytes": "6000\n",
        "memory/a/memory.stat": "total_inactive_file 300\n",
    }
    assert system(tmp_path, "4:cpu:/b\n5:memory,x:/a\nnonsense\n", files) == 0


def test_a_system_that_says_nothing(tmp_path: Path) -> None:
    assert memory.available(tmp_path, tmp_path) is None
    assert memory.resident(1, tmp_path) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [("8GB", 8 * 10**9), ("1.5 mb", 1_500_000), ("64k", 64_000), ("2TiB", 2 * 10**12), ("17", 17)],
)
def test_sizes_as_people_write_them(text: str, count: int) -> None:
    assert memory.parse_size(text) == count


@pytest.mark.parametrize("text", ["", "GB", "-1", "1e9", "1 XB", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="no size"):
        memory.parse_size(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (1_500_000_000, "1.5 GB"),
        (2_470_000_000_000, "2.47 TB"),
        (9 * 10**18, "9 EB"),
        (12_345 * 10**18, "12,345 EB"),
    ],
)
def test_a_size_is_written_as_people_do(count: int, text: str) -> None:
    assert memory.size_words(count) == text


# Limits while it runs.

GROWING = """
HloModule growing

ENTRY e {
  p = f32[] parameter(0)
  first = f32[] sine(p)
  b = f32[16384,8192] broadcast(first), dimensions={}
  r = f32[16384,8192] sine(b)
  ROOT x = f32[16384,8192] cosine(r)
}
"""


def test_a_worker_that_holds_too_much_is_ended_in_words(tmp_path: Path) -> None:
    path = tmp_path / "growing.txt"
    path.write_text(GROWING)
    with opened(path, (parse_spec("first"),), memory_limit=700 * 10**6, allow_memory=True) as session:
        before = go(session, "continue")
        assert before.current is not None
        state = go(session, "continue")
        assert state.status == "dead"
        assert "the limit is 700 MB" in str(state.problem)
        session.goto(state.history[0])
        after = session.wait()
        assert after.current is not None
        assert after.current.summary == before.current.summary


def guarded(limit: int | None, free: Callable[[], int | None]) -> list[str]:
    """What a guard of this process says within a few of its looks."""
    said: list[str] = []
    heard = threading.Event()
    guard = Guard(os.getpid(), limit, lambda reason: (said.append(reason), heard.set()), free)
    guard.work(True)
    heard.wait(1)
    guard.stop()
    return said


def test_the_guard_acts_before_the_system_does() -> None:
    assert guarded(None, lambda: 100 << 30) == []
    frees = iter([96 << 20])
    (reason,) = guarded(None, lambda: next(frees, 5 << 20))
    assert "only 5.24 MB were left" in reason


def test_the_time_limit_keeps_the_place(tmp_path: Path) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(ENDLESS.format(changed="abs(n)"))
    for grain in ("body", "whole"):
        with opened(path, (parse_spec("first"),), grain=grain, time_limit=20.0) as session:
            before = go(session, "continue")
            session.options = type(session.options)(path, grain=grain, time_limit=0.5)
            state = go(session, "continue")
            assert "it took more than 0.5 s" in str(state.problem)
            assert state.status == ("standing" if grain == "body" else "dead")
            assert state.current == before.current


ENDLESS = """
HloModule endless

body {{
  s = (s32[], f32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[] get-tuple-element(s), index=1
  m = s32[] {changed}
  w = f32[] cosine(v)
  ROOT t = (s32[], f32[]) tuple(m, w)
}}

cond {{
  s = (s32[], f32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant(-1)
  ROOT c = pred[] compare(n, z), direction=GT
}}

ENTRY e {{
  n = s32[] constant(3)
  v = f32[] parameter(0)
  t = (s32[], f32[]) tuple(n, v)
  first = f32[] sine(v)
  w = (s32[], f32[]) while(t), condition=cond, body=body
  x = f32[] get-tuple-element(w), index=1
  ROOT r = (f32[], f32[]) tuple(x, first)
}}
"""


def test_a_loop_that_is_compiled_after_the_step_limit_listens_between_its_pieces(tmp_path: Path) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(ENDLESS.format(changed="abs(n)"))
    with opened(path, (parse_spec("first"),)) as session:
        before = go(session, "continue")
        session.move("continue")
        # The step limit is behind it when the loop itself is what runs, in one piece.
        until(lambda: session.state.activity.startswith("running w in e"))
        session.interrupt()
        state = session.wait()
        assert state.status == "standing"
        assert "interrupted" in str(state.problem)
        assert state.current == before.current


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
def test_a_loop_that_cannot_end_is_known_before_it_is_run(tmp_path: Path, grain: str) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(ENDLESS.format(changed="copy(n)"))
    with opened(path, (parse_spec("first"),), grain=grain) as session:
        state = go(session, "continue", "continue")
        assert state.end is not None
        assert state.end["unknown"] == ["w"]
        assert "never ends" in state.end["reasons"][0]
        assert "unknown" not in state.end["outputs"][1]


def test_a_loop_that_cannot_end_can_still_be_stepped_through(tmp_path: Path) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(ENDLESS.format(changed="copy(n)"))
    with opened(path, (parse_spec("body/w"),)) as session:
        keys = [go(session, "continue").current for _ in range(5)]
        paths = [stop.event["path"][-1]["iteration"] for stop in keys if stop is not None]
        assert paths == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("opcode", ["infeed", "recv"])
def test_what_waits_for_the_host_is_never_run(tmp_path: Path, opcode: str) -> None:
    calls = {
        "infeed": "x = (f32[], token[]) infeed(t)",
        "recv": "x = (f32[], u32[], token[]) recv(t), channel_id=1, is_host_transfer=true",
    }
    path = tmp_path / "waits.txt"
    path.write_text(
        "HloModule waits\n\nENTRY e {\n  p = f32[] parameter(0)\n  t = token[] after-all()\n"
        f"  {calls[opcode]}\n  v = f32[] get-tuple-element(x), index=0\n  ROOT r = (f32[], f32[]) tuple(p, v)\n}}\n"
    )
    with opened(path, (parse_spec("v"),)) as session:
        state = go(session, "continue")
        assert state.current is not None
        given = state.current.event["supplied"]
        assert (given["instruction"], given["by_itself"]) == ("x", True)
        assert opcode in given["value"]
        end = go(session, "continue").end
        assert end is not None
        assert (end["unknown"], end["self_check"]) == ([], "skipped")
