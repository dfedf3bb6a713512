"""When news is told, on a clock that the test turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.dump.files import File
from hlo_tui.dump.settle import GATHER, SPACING, STABLE, Settler, judge
from tests.dump.making import file

TEXT = "module_0001.f.before_optimizations.txt"
PROTO = "module_0001.f.before_optimizations.hlo.pb"


class Ends:
    """Stands in for the disk: which files end with their last line."""

    def __init__(self, *whole: str) -> None:
        self.whole = set(whole)
        self.asked: list[str] = []

    def __call__(self, one: File) -> bool:
        self.asked.append(one.path)
        return one.path in self.whole


def told(news: tuple[list[File], list[str]]) -> list[tuple[str, int, bool]]:
    present, _ = news
    return [(one.path, one.size, one.complete) for one in present]


def test_a_file_that_is_created_written_and_closed_at_once_is_told_once() -> None:
    settler = Settler(Ends(TEXT))
    settler.saw(file(TEXT, 0), 10.0)
    settler.saw(file(TEXT, 50), 10.001)
    settler.saw(file(TEXT, 50), 10.002, closed=True)
    assert settler.take(10.003) == ([], [])
    assert settler.due() == 10.0 + GATHER
    assert told(settler.take(10.0 + GATHER)) == [(TEXT, 50, True)]
    assert settler.due() is None


def test_a_file_in_the_middle_is_told_as_such_and_again_when_it_is_closed() -> None:
    settler = Settler(Ends(TEXT))
    settler.saw(file(TEXT, 50), 0.0)
    assert told(settler.take(GATHER)) == [(TEXT, 50, False)]
    settler.saw(file(TEXT, 90), 0.2)
    settler.saw(file(TEXT, 90), 0.2, closed=True)
    assert told(settler.take(0.2 + GATHER)) == [(TEXT, 90, True)]


def test_a_file_that_nobody_closes_is_whole_when_it_is_quiet() -> None:
    settler = Settler(Ends())
    settler.saw(file(PROTO, 50), 0.0)
    assert told(settler.take(GATHER)) == [(PROTO, 50, False)]
    assert settler.due() == STABLE
    assert settler.doubtful(STABLE - 0.01) == []
    assert settler.doubtful(STABLE) == [PROTO]
    assert told(settler.take(STABLE)) == [(PROTO, 50, True)]
    assert settler.due() is None


def test_growth_puts_the_quiet_off() -> None:
    settler = Settler(Ends())
    settler.saw(file(PROTO, 50), 0.0)
    settler.take(GATHER)
    settler.saw(file(PROTO, 60), 0.4)
    assert told(settler.take(STABLE)) == [(PROTO, 60, False)]
    assert settler.doubtful(STABLE) == []
    assert told(settler.take(0.4 + STABLE)) == [(PROTO, 60, True)]


def test_a_text_without_its_last_line_stays_incomplete_though_it_is_closed() -> None:
    ends = Ends()
    settler = Settler(ends)
    settler.saw(file(TEXT, 50), 0.0, closed=True)
    assert told(settler.take(GATHER)) == [(TEXT, 50, False)]
    # Nothing to wait for: only a change can help it.
    assert settler.due() is None
    assert ends.asked == [TEXT]
    ends.whole.add(TEXT)
    settler.saw(file(TEXT, 70), 5.0, closed=True)
    assert told(settler.take(5.0 + GATHER)) == [(TEXT, 70, True)]


def test_only_texts_are_looked_into() -> None:
    ends = Ends()
    settler = Settler(ends)
    settler.saw(file(PROTO), 0.0, closed=True)
    settler.take(GATHER)
    assert ends.asked == []


def test_the_same_state_again_is_no_news() -> None:
    settler = Settler(Ends(TEXT))
    assert settler.saw(file(TEXT, 50), 0.0, closed=True)
    settler.take(GATHER)
    assert not settler.saw(file(TEXT, 50), 1.0)
    assert not settler.saw(file(TEXT, 50), 1.0, closed=True)
    assert settler.due() is None


def test_a_file_that_is_gone() -> None:
    settler = Settler(Ends(TEXT))
    settler.saw(file(TEXT, 50), 0.0, closed=True)
    settler.take(GATHER)
    assert settler.lost(TEXT, 1.0)
    assert not settler.lost(TEXT, 1.0)
    assert settler.take(1.0 + SPACING) == ([], [TEXT])
    assert settler.known(TEXT) is None


def test_a_file_that_came_and_went_between_two_tellings_was_never_there() -> None:
    settler = Settler(Ends(TEXT))
    settler.saw(file(TEXT, 50), 0.0, closed=True)
    settler.lost(TEXT, 0.01)
    assert settler.take(GATHER) == ([], [])


def test_a_file_that_went_and_came_between_two_tellings_is_present() -> None:
    settler = Settler(Ends(TEXT))
    settler.adopt(file(TEXT, 50), 0.0)
    settler.lost(TEXT, 1.0)
    settler.saw(file(TEXT, 60), 1.01, closed=True)
    present, gone = settler.take(1.0 + GATHER)
    assert ([one.size for one in present], gone) == ([60], [])


def test_what_was_adopted_is_not_told_again() -> None:
    settler = Settler(Ends())
    settler.adopt(file(TEXT, 50), 0.0)
    assert not settler.saw(file(TEXT, 50), 1.0)
    assert settler.take(1.0, at_once=True) == ([], [])


def test_a_steady_stream_is_told_in_few_pieces() -> None:
    settler = Settler(Ends())
    calls = 0
    for step in range(500):
        now = step * 0.0002  # 500 files in a tenth of a second
        settler.saw(file(f"module_{step:04d}.f.before_optimizations.hlo.pb"), now, closed=True)
        due = settler.due()
        if due is not None and due <= now:
            calls += bool(settler.take(now)[0])
    calls += bool(settler.take(1.0)[0])
    # One piece at GATHER, one SPACING later.
    assert calls == 2


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.floats(0, 0.4)), max_size=40))
def test_in_the_end_the_last_state_of_every_file_is_told(steps: list[tuple[str, int, float]]) -> None:
    settler = Settler(Ends())
    now, last = 0.0, {}
    shown: dict[str, tuple[int, bool]] = {}

    def take() -> None:
        present, gone = settler.take(now)
        for path in gone:
            del shown[path]
        for one in present:
            assert shown.get(one.path) != (one.size, one.complete)
            shown[one.path] = (one.size, one.complete)

    for path, size, pause in steps:
        now += pause
        if size == 0:
            settler.lost(path, now)
            last.pop(path, None)
        else:
            settler.saw(file(path, size), now, closed=size == 3)
            last[path] = size
        take()
    rounds = 0
    while (due := settler.due()) is not None:
        now = max(now, due)
        take()
        rounds += 1
        assert rounds <= 2 * len(steps) + 2
    assert shown == {path: (size, True) for path, size in last.items()}


def test_one_walk_looks_only_into_what_a_crash_can_have_cut_off() -> None:
    now = 1_000_000_000_000
    old = [
        file("module_0001.f.before_optimizations.txt", mtime=1),
        file("module_0001.f.0000.p.after_a.before_b.txt", mtime=3),
        file("module_0001.f.0001.p.after_a.before_b.txt", 0, mtime=2),
        file("module_0001.f.0001.p.after_a.before_b.hlo.pb", mtime=9),
        file("module_0002.g.before_optimizations.txt", mtime=1),
    ]
    young = [
        file("module_0001.f.cpu_after_optimizations.hlo.pb", mtime=now),
        file("module_0003.h.before_optimizations.txt", mtime=now - 1),
    ]
    newest = "module_0001.f.0000.p.after_a.before_b.txt"
    ends = Ends(newest, "module_0003.h.before_optimizations.txt", "module_0002.g.before_optimizations.txt")
    judged = judge(old + young, now, ends)
    assert [one.path for one in judged] == [one.path for one in old + young]
    assert sorted(ends.asked) == [
        newest,
        "module_0001.f.0001.p.after_a.before_b.txt",
        "module_0002.g.before_optimizations.txt",
        "module_0003.h.before_optimizations.txt",
    ]
    assert [one.complete for one in judged] == [True, True, False, True, True, False, True]
