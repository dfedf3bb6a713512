"""Laws of comparing: what is the same module is equal, and one edit is found, and only it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.hlo.source import BytesSource
from hlo_tui.passes.blocks import Text
from hlo_tui.passes.changes import Diff
from hlo_tui.passes.compare import Comparison
from tests.passes.making import BINARY, FRAMES, UNARY, Made, MadeModule, make_module, render

SIZES = st.integers(1, 40) | st.integers(260, 300)


def text(data: bytes) -> Text:
    return Text(BytesSource(data, "made"))


def diff(a: bytes, b: bytes) -> Diff:
    return Comparison(text(a), text(b)).run()


def fresh(module: MadeModule, random_: random.Random) -> dict[str, str]:
    numbers = random_.sample(range(100_000), len(module.names()))
    return {name: f"v.{number}" for name, number in zip(module.names(), numbers, strict=True)}


def permuted(module: MadeModule, random_: random.Random) -> dict[str, str]:
    """The module's own names, dealt out anew."""
    new = module.names()
    random_.shuffle(new)
    return dict(zip(module.names(), new, strict=True))


def frames(random_: random.Random) -> list[int]:
    return random_.sample(range(1, FRAMES + 1), FRAMES)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), SIZES)
def test_a_module_equals_itself(seed, size):
    data = render(make_module(random.Random(seed), size))
    found = diff(data, data)
    assert found == Diff()


@pytest.mark.parametrize("rename", [fresh, permuted])
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), size=SIZES)
def test_names_numbers_and_order_make_no_difference(rename, seed, size):
    random_ = random.Random(seed)
    module = make_module(random_, size)
    names = rename(module, random_)
    other = render(module, names, random_, frames(random_))
    found = diff(render(module), other)
    assert found.equal, found


def edit(
    module: MadeModule, random_: random.Random, kind: str
) -> tuple[MadeModule, str, tuple[str, ...]] | None:
    """The module with one instruction changed, its name, and what changed; None where the kind does not fit."""
    at = random_.randrange(len(module.computations))
    computation = module.computations[at]
    fits = {
        "opcode": lambda made: made.opcode in UNARY + BINARY,
        "value": lambda made: made.opcode == "constant",
        "dimensions": lambda made: made.opcode == "transpose",
        "shape": lambda made: made.opcode in UNARY + BINARY,
        "operands": lambda made: made.opcode in UNARY,
        "layout": lambda made: made.opcode in UNARY + BINARY,
        "sharding": lambda made: made.opcode != "parameter",
        "metadata": lambda made: made.frame,
    }[kind]
    places = [place for place, made in enumerate(computation.instructions) if fits(made)]
    if not places:
        return None
    place = random_.choice(places)
    made = computation.instructions[place]
    changes: dict[str, object] = {
        "opcode": {"opcode": "remainder" if made.opcode in BINARY else "cosine"},
        "value": {"value": "7"},
        "dimensions": {"attributes": (("dimensions", "{1,0,2}"),)},
        "shape": {"shape": "u8[3]"},
        "layout": {"layout": "{0}"},
        "sharding": {"sharding": "{replicated}"},
        "metadata": {"frame": made.frame % FRAMES + 1},
    }.get(kind, {})
    if kind == "operands":
        # Only what computes something else is another operand: a parameter of its own shape and number.
        others = [
            other for other in range(place)
            if computation.instructions[other].opcode == "parameter" and (other,) != made.operands
        ]  # fmt: skip
        if not others:
            return None
        changes = {"operands": (random_.choice(others),)}
    return module.edited(at, place, **changes), made.name, (kind,)


KINDS = ("opcode", "value", "dimensions", "shape", "operands", "layout", "sharding", "metadata")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), size=SIZES)
def test_one_edit_is_found_and_only_it(kind, seed, size):
    random_ = random.Random(seed)
    module = make_module(random_, size)
    edited = edit(module, random_, kind)
    if edited is None:
        return
    other, name, what = edited
    found = diff(render(module), render(other, None, random_, frames(random_)))
    assert (found.added, found.removed, found.header) == ((), (), ())
    assert [(change.a.name, change.b.name, change.what) for change in found.modified] == [(name, name, what)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), size=SIZES)
def test_one_edit_is_found_under_other_names(kind, seed, size):
    random_ = random.Random(seed)
    module = make_module(random_, size)
    edited = edit(module, random_, kind)
    if edited is None:
        return
    other, _, what = edited
    names = fresh(module, random_)
    found = diff(render(module), render(other, names, random_, frames(random_)))
    assert (found.added, found.removed, found.header) == ((), (), ())
    # Without names nothing tells two instructions apart that compute the same and are used alike.
    assert [change.what for change in found.modified] == [what]


def insert(module: MadeModule, random_: random.Random) -> tuple[MadeModule, str, str] | None:
    """The module with a new instruction between one and an operand of it: the new name and the user's."""
    at = random_.randrange(len(module.computations))
    computation = module.computations[at]
    places = [place for place, made in enumerate(computation.instructions) if made.operands]
    if not places:
        return None
    place = random_.choice(places)
    made = list(computation.instructions)
    number = random_.randrange(len(made[place].operands))
    between = Made("between", "floor", "f32[4]", (made[place].operands[number],))
    moved = [replace(one, operands=tuple(o + (o >= place) for o in one.operands)) for one in made]
    operands = list(moved[place].operands)
    operands[number] = place
    user = replace(moved[place], operands=tuple(operands))
    instructions = (*moved[:place], between, user, *moved[place + 1 :])
    changed = replace(
        computation, instructions=instructions, root=computation.root + (computation.root >= place)
    )
    return module.with_computation(at, changed), "between", user.name


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), size=SIZES)
def test_what_was_put_in_or_taken_out_is_found(seed, size):
    random_ = random.Random(seed)
    module = make_module(random_, size)
    found = insert(module, random_)
    if found is None:
        return
    other, new, user = found
    a, b = render(module), render(other, None, random_, frames(random_))
    there, back = diff(a, b), diff(b, a)
    assert [place.name for place in there.added] == [place.name for place in back.removed] == [new]
    assert (there.removed, back.added) == ((), ())
    for one in (there, back):
        assert [(change.a.name, change.b.name, change.what) for change in one.modified] == [
            (user, user, ("operands",))
        ]
