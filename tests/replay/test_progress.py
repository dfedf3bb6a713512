"""What is being done is told in few messages, and can be read after the worker's death."""

from __future__ import annotations

import itertools
import threading

import pytest

from hlo_tui.replay.ahead import Ahead
from hlo_tui.replay.atwork import NOTHING, SIZE, SLOTS, Board, Doing, Phase
from hlo_tui.replay.lessons import Lessons
from hlo_tui.replay.progress import Progress, Words
from hlo_tui.replay.stopspec import parse_spec
from tests.replay.conftest import Open, forward, program_file
from tests.replay.sessions import go, opened

DOT = Doing(Phase.RUN, "main", "dot.4")
ADD = Doing(Phase.COMPILE, "region_0.1", "add.2")


def test_a_board_is_read_from_the_other_side() -> None:
    with Board.file() as file:
        mine, theirs = Board(file.fileno()), Board(file.fileno())
        assert theirs.read() == []
        mine.mark(DOT.record())
        assert theirs.read() == [DOT]
        mine.mark(Doing(Phase.PARSE).record())
        assert theirs.read() == [Doing(Phase.PARSE)]
        mine.mark(NOTHING)
        assert theirs.read() == []


def test_each_thread_has_a_place_of_its_own() -> None:
    board = Board()
    board.mark(DOT.record())

    def other() -> None:
        board.take(SLOTS - 1)
        board.mark(ADD.record())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert board.read() == [DOT, ADD]


def test_something_else_for_a_while() -> None:
    board = Board()
    board.mark(ADD.record())
    with board.instead(Doing(Phase.LOAD).record()):
        assert board.read() == [Doing(Phase.LOAD)]
    assert board.read() == [ADD]


@pytest.mark.parametrize("name", ["x" * SIZE, "\udcff\udcfe", "a b", "ü" * 300])
def test_names_of_any_kind_do_no_harm(name: str) -> None:
    board = Board()
    board.mark(Doing(Phase.RUN, "main", name).record())
    (found,) = board.read()
    assert found in (Doing(Phase.RUN, "main", name), Doing(Phase.RUN))
    assert (found.instruction == name) is (len(name) < SIZE)


# What is learned from a death: a signal's number is negative.


@pytest.mark.parametrize("phase", [Phase.RUN, Phase.COMPILE])
def test_the_instruction_it_died_of_is_left_out(phase: Phase) -> None:
    after, words = Lessons(threads=2).learn([Doing(phase, "main", "dot.4")], -11)
    assert after == Lessons((("main", "dot.4", "XLA ended the process on it"),), 2, True)
    assert "dot.4 in main" in words


def test_one_of_several_threads_is_found_by_compiling_one_at_a_time() -> None:
    after, words = Lessons(threads=2).learn([ADD, DOT], -6)
    assert after == Lessons((), 1, True)
    assert "one at a time" in words


def test_a_piece_of_several_instructions_is_not_put_on_one_of_them() -> None:
    stretch = Doing(Phase.STRETCH, "main", "dot.4")
    after, _ = Lessons(threads=2).learn([stretch], -6)
    assert [refused[:2] for refused in after.refused] == [stretch.key()]
    assert stretch.key() != DOT.key()


@pytest.mark.parametrize(("doing", "status"), [([Doing(Phase.LOAD)], -11), ([DOT], -4)])
def test_bad_stored_code_is_not_loaded_again(doing: list[Doing], status: int) -> None:
    after, _ = Lessons(threads=2).learn(doing, status)
    assert after == Lessons((), 2, False)


def test_from_the_parser_nothing_can_be_learned() -> None:
    before = Lessons()
    after, words = before.learn([Doing(Phase.PARSE)], -6)
    assert after == before
    assert "parser" in words


def test_what_was_ended_from_here_leaves_out_only_the_check() -> None:
    before = Lessons(threads=2)
    check = Doing(Phase.CHECK, "main")
    assert before.without_check([DOT], "interrupted") == before
    after = before.without_check([check], "interrupted")
    assert after.refused == ((*check.key(), "interrupted"),)


def test_a_check_that_was_ended_is_not_tried_again(debug: Open) -> None:
    debugger = debug(program_file("product"))
    key = Doing(Phase.CHECK, debugger.program.entry.name).key()
    debugger.evaluator.refused[key] = "it took more than 600 s"
    *_, end = forward(debugger)
    assert end["self_check"] == "skipped"
    assert "it took more than 600 s" in end["self_check_reason"]


# Messages.


def test_only_what_is_new_is_said_and_nothing_after_the_end() -> None:
    said: list[str] = []
    looks = itertools.count(1)
    enough = threading.Event()

    def look() -> str:
        number = next(looks)
        if number == 9:
            enough.set()
        return f"part {number // 3}"

    progress = Progress(look, lambda message: said.append(message["note"]))
    progress.begin()
    enough.wait()
    progress.end()
    told = list(said)
    assert told == ["part 0", "part 1", "part 2", "part 3"][: len(told)]
    progress.begin()
    progress.end()
    assert said == told


def test_words_say_what_how_much_and_where(debug: Open) -> None:
    board = Board()
    words = Words(board)
    assert words.now(None) == ""
    board.mark(ADD.record())
    assert words.now(None) == "compiling add.2 in region_0.1"
    debugger = debug(program_file("long"), stops=("op:no-such-opcode",))
    board.mark(DOT.record())
    debugger.evaluator.ahead.total, debugger.evaluator.ahead.done = 40, 11
    assert words.now(debugger.evaluator) == "running dot.4 in main, 12 of 40"


def test_a_long_loop_says_how_far_it_is_in_few_messages() -> None:
    with opened(program_file("long"), (parse_spec("op:no-such-opcode"),)) as session:
        notes: list[str] = []
        heard = session._message

        def count(message: dict) -> None:
            if "note" in message:
                notes.append(message["note"])
            heard(message)

        assert session._client is not None
        session._client._on_message = count
        assert go(session, "continue").end is not None
        # A thousand iterations of some instructions each.
        assert len(notes) < 200
        loops = [note for note in notes if "iteration" in note]
        assert all("of while" in note for note in loops)


def test_slices_are_compiled_before_they_are_needed(debug: Open) -> None:
    debugger = debug(program_file("nested"), stops=("op:no-such-opcode",))
    evaluator = debugger.evaluator
    prepared: list[int] = []
    compile_all = Ahead._compile

    class Seen(Ahead):
        def _compile(self, todo: dict[bytes, bytes]) -> None:
            prepared.append(len(todo))
            assert all(module not in evaluator.cache for module in todo)
            compile_all(self, todo)
            assert all(module in evaluator.cache for module in todo)

    evaluator.cache = type(evaluator.cache)(evaluator.backend.compile)
    evaluator.ahead = Seen(evaluator, 2)
    end = debugger.move("continue")
    assert end["self_check"] == "match"
    # All but the check of the whole module was compiled before it was run.
    assert sum(prepared) == evaluator.cache.compiles - 1
