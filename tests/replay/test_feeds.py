"""Made data for what waits: other data each time, the same for the same time, and it is said."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.feeds import Feeds
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.headless import words
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.stopspec import parse_spec
from hlo_tui.replay.supplies import Supplies
from tests.corpus import corpus_dir
from tests.replay.conftest import Open, backward, forward
from tests.replay.running import program_of
from tests.replay.sessions import go, opened

GRAINS = ("whole", "unit", "body")

# A training loop: a batch each time, until the host says that it was the last.
LOOP = """
HloModule training

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

body {
  p = (f32[4,3], f32[], pred[], token[]) parameter(0)
  w = f32[4,3] get-tuple-element(p), index=0
  sum = f32[] get-tuple-element(p), index=1
  t = token[] get-tuple-element(p), index=3
  in = ((f32[4,3], s32[2]), token[]) infeed(t), infeed_config="queue"
  data = (f32[4,3], s32[2]) get-tuple-element(in), index=0
  batch = f32[4,3] get-tuple-element(data), index=0
  rows = s32[2] get-tuple-element(data), index=1
  after = token[] get-tuple-element(in), index=1
  product = f32[4,3] multiply(w, batch)
  root = f32[4,3] sqrt(batch)
  taken = f32[2,3] gather(root, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1,3}
  zero = f32[] constant(0)
  loss = f32[] reduce(taken, zero), dimensions={0,1}, to_apply=add
  total = f32[] add(sum, loss)
  more = (pred[], token[]) infeed(after)
  goes_on = pred[] get-tuple-element(more), index=0
  out = token[] outfeed(loss, after), outfeed_shape=f32[]
  new = f32[4,3] add(w, product)
  ROOT next = (f32[4,3], f32[], pred[], token[]) tuple(new, total, goes_on, out)
}

condition {
  p = (f32[4,3], f32[], pred[], token[]) parameter(0)
  ROOT c = pred[] get-tuple-element(p), index=2
}

ENTRY e {
  w = f32[4,3] parameter(0)
  zero = f32[] constant(0)
  yes = pred[] constant(true)
  t = token[] after-all()
  first = (f32[4,3], f32[], pred[], token[]) tuple(w, zero, yes, t)
  loop = (f32[4,3], f32[], pred[], token[]) while(first), condition=condition, body=body
  last = f32[4,3] get-tuple-element(loop), index=0
  total = f32[] get-tuple-element(loop), index=1
  ROOT r = (f32[4,3], f32[]) tuple(last, total)
}
"""
W = np.linspace(1, 2, 12, dtype=np.float32).reshape(4, 3)


def seed_with(count: int) -> int:
    """A seed with which the loop runs so often."""
    program = program_of(LOOP)
    (more,) = [op for op in program.by_name("body").ops if op.name == "more"]  # type: ignore[union-attr]
    entry = Frame(program.entry, [W])
    site = program.entry.by_name["loop"]

    def goes_on(seed: int, iteration: int) -> bool:
        steps = {op.name: step for op, step in Feeds(program, seed, 1).steps()}
        frame = Frame(more.computation, [], entry, site, 2 * iteration + 1, iteration)
        return bool(steps["more"](frame)[0])

    return next(
        seed
        for seed in range(1000)
        if all(goes_on(seed, n) for n in range(count - 1)) and not goes_on(seed, count - 1)
    )


@pytest.fixture(scope="module")
def seed() -> int:
    return seed_with(6)


def debugger_of(backend: xla.Backend, cache: SliceCache, grain: str, seed: int, text: str = LOOP) -> Debugger:
    program = program_of(text)
    debugger = Debugger(program, Inputs("npz", [W]), backend, cache, grain=Grain(grain))
    debugger.supply(Supplies(program, seed=seed))
    return debugger


@pytest.mark.parametrize("grain", GRAINS)
def test_a_loop_is_fed_another_batch_each_time(
    backend: xla.Backend, cache: SliceCache, grain: str, seed: int
) -> None:
    debugger = debugger_of(backend, cache, grain, seed)
    debugger.set_stops([parse_spec("in")])
    batches, rows = [], []
    while debugger.move("continue")["event"] == "stop":
        value = debugger.evaluator.value(debugger.spot.frame, debugger.spot.index)
        (batch, taken), token = value
        assert token is None
        batches.append(np.asarray(batch))
        rows.append(np.asarray(taken))
    assert len(batches) == 6
    assert len({batch.tobytes() for batch in batches}) == 6
    # Of what a square root is taken is not negative; rows of the batch are numbers of rows.
    assert all((batch >= 0).all() for batch in batches)
    assert all(((taken >= 0) & (taken < 4)).all() for taken in rows)
    last, total = debugger.evaluator.root(debugger._entry)
    wanted, losses = W, np.float32(0)
    for batch, taken in zip(batches, rows, strict=True):
        wanted = wanted + wanted * batch
        losses += np.sqrt(batch)[taken].sum()
    np.testing.assert_allclose(last, wanted, rtol=1e-6)
    np.testing.assert_allclose(total, losses, rtol=1e-6)


def test_all_grains_are_fed_the_same(backend: xla.Backend, cache: SliceCache, seed: int) -> None:
    found = []
    for grain in GRAINS:
        debugger = debugger_of(backend, cache, grain, seed)
        found.append([np.asarray(value) for value in debugger.evaluator.root(debugger._entry)])
    for other in found[1:]:
        np.testing.assert_allclose(other[0], found[0][0], rtol=1e-6)
        np.testing.assert_allclose(other[1], found[0][1], rtol=1e-6)


def test_going_back_meets_the_same_data_again(backend: xla.Backend, cache: SliceCache, seed: int) -> None:
    debugger = debugger_of(backend, cache, "unit", seed)
    debugger.set_stops([parse_spec("batch"), parse_spec("total")])
    there = [event["value"] for event in forward(debugger)[:-1]]
    # Nothing that was computed is kept.
    debugger.regrain(Grain.UNIT)
    back = [event["value"] for event in backward(debugger)[:-1]]
    assert back == there[::-1]
    assert [event["value"] for event in forward(debugger)[:-1]] == there


def test_names_and_places_of_another_stage_change_nothing_and_the_seed_does(
    backend: xla.Backend, cache: SliceCache, seed: int
) -> None:
    def totals(text: str, seed: int) -> bytes:
        debugger = debugger_of(backend, cache, "unit", seed, text)
        return np.asarray(debugger.evaluator.root(debugger._entry)[1]).tobytes()

    other = re.sub(r"\b(in|body|loop)\b(?!feed)", r"\1.7", LOOP.replace("body=body", "body=body.7"))
    other = other.replace("body.7=body.7.7", "body=body.7").replace(
        "  sum =", "  one = s32[] constant(1)\n  sum ="
    )
    assert totals(other, seed) == totals(LOOP, seed)
    assert totals(LOOP, seed_with(1)) != totals(LOOP, seed)


TWICE = """
HloModule twice

fed {
  x = f32[2] parameter(0)
  t = token[] after-all()
  in = (f32[2], token[]) infeed(t)
  ROOT y = f32[2] get-tuple-element(in), index=0
}

ENTRY e {
  x = f32[2] parameter(0)
  a = f32[2] call(x), to_apply=fed
  b = f32[2] call(x), to_apply=fed
  t = token[] after-all()
  in = (f32[2], token[]) infeed(t)
  c = f32[2] get-tuple-element(in), index=0
  ROOT r = (f32[2], f32[2], f32[2]) tuple(a, b, c)
}
"""


def test_each_place_that_waits_has_data_of_its_own(backend: xla.Backend, cache: SliceCache) -> None:
    debugger = Debugger(program_of(TWICE), Inputs("npz", [W[0, :2]]), backend, cache, grain=Grain.WHOLE)
    found = [np.asarray(value).tobytes() for value in debugger.evaluator.root(debugger._entry)]
    assert len(set(found)) == 3


def test_it_is_said_at_the_start_at_each_value_and_at_the_end(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "training.txt"
    path.write_text(LOOP)
    with opened(path, (parse_spec("batch"), parse_spec("loss")), seed=seed) as session:
        start = session.state.start
        assert start is not None
        assert not start["faithful"]
        (reason,) = [one for one in start["reasons"] if "waited" in one]
        assert "in, more" in reason
        assert "--supply in=FILE.npy" in reason
        assert {(one["instruction"], one["by_itself"]) for one in start["supplied"]} == {
            ("in", True),
            ("more", True),
        }
        event = go(session, "continue").current.event  # type: ignore[union-attr]
        given = {
            "computation": "body",
            "instruction": "in",
            "value": "made: the stand-in of an infeed",
            "by_itself": True,
        }
        assert event["supplied"] == given
        assert "supplied: in (made: the stand-in of an infeed)" in words(event | {"n": 1})
        event = go(session, "continue").current.event  # type: ignore[union-attr]
        assert event["supplied"] is None
        session.set_specs(())
        session.wait()
        end = go(session, "continue").end
        assert end is not None
        assert [one["instruction"] for one in end["supplied"]] == ["in", "more"]
        assert "supplied: more (made: the stand-in of an infeed)" in words(end)
        assert (end["self_check"], end["unknown"], end["status"]) == ("skipped", [], "done")


BATCHES = """
import numpy
from hlo_tui.replay.standins import stand_in

@stand_in("infeed")
def given(*, backend_config, iteration):
    (at,) = iteration
    if backend_config != "queue":
        return at < 3
    return numpy.full((4, 3), at, numpy.float32), numpy.array([at % 4, 0])
"""


@pytest.mark.parametrize("grain", GRAINS)
def test_a_function_of_the_person_gives_each_batch(tmp_path: Path, grain: str) -> None:
    path, own = tmp_path / "dump" / "training.txt", tmp_path / "own.py"
    path.parent.mkdir()
    path.write_text(LOOP)
    own.write_text(BATCHES)
    with opened(path, (parse_spec("body/total"),), grain=grain, standins=str(own)) as session:
        start = session.state.start
        assert start is not None
        assert {(one["value"], one["by_itself"]) for one in start["supplied"]} == {(f"stand-in {own}", False)}
        state = go(session, *["continue"] * 5)
        # Six square roots of each batch's number are added.
        sums = np.cumsum([6 * np.sqrt(n) for n in range(4)])
        assert [stop.summary["first"][0] for stop in state.history] == pytest.approx(list(sums))  # type: ignore[index]
        assert state.end is not None
        assert state.end["self_check_reason"] == "values were supplied"


def test_a_function_that_does_not_fit_leaves_the_value_unknown(tmp_path: Path) -> None:
    path, own = tmp_path / "dump" / "training.txt", tmp_path / "own.py"
    path.parent.mkdir()
    path.write_text(LOOP)
    own.write_text(BATCHES.replace("(4, 3)", "(4, 4)"))
    with opened(path, (), standins=str(own)) as session:
        end = go(session, "continue").end
        assert end is not None
        assert end["unknown"] == ["in"]
        assert "the stand-in gave [4, 4], not f32[4,3]" in end["reasons"][0]


def test_other_inputs_of_another_seed_bring_other_data(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "training.txt"
    path.write_text(LOOP)
    with opened(path, (parse_spec("batch"),), seed=seed) as session:
        first = go(session, "continue").current.summary  # type: ignore[union-attr]
        session.use_inputs("made", seed + 1)
        session.wait()
        assert go(session, "continue").current.summary != first  # type: ignore[union-attr]
        session.use_inputs("made", seed)
        session.wait()
        assert go(session, "continue").current.summary == first  # type: ignore[union-attr]


@pytest.mark.parametrize("grain", GRAINS)
def test_a_loop_that_made_data_keep_going_is_stopped_in_words(tmp_path: Path, grain: str) -> None:
    path = tmp_path / "endless.txt"
    # The made numbers are never so large.
    text = LOOP.replace("goes_on = pred[]", "told = s32[]").replace(
        "(pred[], token[]) infeed", "(s32[], token[]) infeed"
    )
    text = text.replace(
        "  out = token[]",
        "  much = s32[] constant(1000)\n  goes_on = pred[] compare(told, much), direction=LT\n  out = token[]",
    )
    path.write_text(text)
    with opened(path, (), grain=grain, time_limit=2.0) as session:
        state = go(session, "continue")
        assert state.status == "standing"
        assert "it took more than 2 s" in str(state.problem)
        session.set_specs((parse_spec("loss"),))
        session.wait()
        state = go(session, *["continue"] * 3)
        assert state.current is not None
        assert state.current.event["path"][-1]["iteration"] == 2


WAITING_LOOP = """
HloModule waiting

asking {
  t = token[] parameter(0)
  in = (pred[], token[]) infeed(t)
  ROOT told = pred[] get-tuple-element(in), index=0
}

body {
  p = (s32[], token[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  t = token[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT next = (s32[], token[]) tuple(j, t)
}

condition {
  p = (s32[], token[]) parameter(0)
  t = token[] get-tuple-element(p), index=1
  CONDITION
}

ENTRY e {
  n = s32[] parameter(0)
  t = token[] after-all()
  first = (s32[], token[]) tuple(n, t)
  w = (s32[], token[]) while(first), condition=condition, body=body
  ROOT count = s32[] get-tuple-element(w), index=0
}
"""
DIRECTLY = "in = (pred[], token[]) infeed(t)\n  ROOT c = pred[] get-tuple-element(in), index=0"


@pytest.mark.parametrize("condition", [DIRECTLY, "ROOT c = pred[] call(t), to_apply=asking"])
def test_a_loop_whose_condition_waits_is_not_taken_for_endless(
    backend: xla.Backend, cache: SliceCache, condition: str
) -> None:
    text = WAITING_LOOP.replace("CONDITION", condition)
    counts: dict[int, set[int]] = {}
    for grain in GRAINS:
        for seed in range(8):
            program = program_of(text)
            debugger = Debugger(
                program, Inputs("npz", [np.array(0, np.int32)]), backend, cache, grain=Grain(grain)
            )
            debugger.supply(Supplies(program, seed=seed))
            counts.setdefault(seed, set()).add(int(debugger.evaluator.root(debugger._entry)))
    assert all(len(found) == 1 for found in counts.values())
    assert len({found.pop() for found in counts.values()}) > 1


WAITING = re.compile(r"^[^/\n]*\b(?:infeed|recv)\(", re.M)


def test_public_modules_that_wait_run_to_their_end(debug: Open, tmp_path: Path) -> None:
    tried = 0
    for path in sorted((corpus_dir() / "public").rglob("*.hlo")):
        for number, part in enumerate(
            re.split(r"^// -----.*$", path.read_text(errors="replace"), flags=re.M)
        ):
            entry = part.partition("\nENTRY ")[2]
            if not WAITING.search(entry):
                continue
            own = tmp_path / f"{path.stem}_{number}.hlo"
            own.write_text(part)
            tried += 1
            for grain in GRAINS:
                end = forward(debug(own, grain, stops=("op:no-such-opcode",)))[-1]
                assert (end["unknown"], end["status"]) == ([], "done"), (own.name, grain)
                made = "made" in str(end["supplied"])
                assert (end["self_check"] == "skipped") == made, (own.name, end)
    assert tried >= 11
