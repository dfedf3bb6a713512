"""Where something of one stage is in another one: found by what it computes and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible

if TYPE_CHECKING:
    from hlo_tui.passes.history import History, Trace
    from hlo_tui.ui.opened import Opened, Want

# Bytes of both stages together up to which they are compared, which takes a second for one or two million.
_MOST = 4 << 20


def counterpart(opened: Opened) -> tuple[int | None, str]:
    """Find in a scanned module what the cursor was on in another stage.

    Returns:
        The line, None where nothing is left of it; and what a person should know: under which name it is here,
        or that it is gone.
    """
    want = opened.want
    try:
        history = _history(want)
        found = _follow(history, want) if history is not None and want.instruction else []
    except HloTuiError:
        history, found = None, []
    for trace in found:
        there = opened.module.find(trace.place.name, trace.place.computation)
        if there is not None:
            return there.line, _words(want, trace)
    if history is None and want.instruction:
        same = opened.module.find(want.instruction, want.computation)
        if same is not None:
            return same.line, ""
    words = f"nothing here is %{visible(want.instruction)}" if want.instruction else ""
    return _computation(opened, history), words


def _history(want: Want) -> History | None:
    """The two stages; None where it would take long to compare them."""
    from hlo_tui.dump.catalog import Catalog
    from hlo_tui.dump.listing import Listing
    from hlo_tui.passes.history import History

    beside = want.beside
    if beside is None or sum(stage.main.size for stage in beside.module.stages) > _MOST:
        return None
    history = History(Listing(beside.root, Catalog(), {}, beside.log), beside.module)
    return history if len(history.stages) == 2 else None


def _follow(history: History, want: Want) -> list[Trace]:
    from hlo_tui.passes.changes import Place

    assert want.beside is not None
    place = Place(want.computation, want.instruction)
    steps = history.backward(1, place) if want.beside.back else history.forward(0, place)
    return next((found for _, found in steps), [])


def _words(want: Want, trace: Trace) -> str:
    from hlo_tui.passes.history import NAME
    from hlo_tui.passes.links import ABSORBED, CERTAIN, MERGED, REPLACED

    was, now = visible(want.instruction), visible(trace.place.name)
    if trace.how in (REPLACED, MERGED, ABSORBED):
        return f"%{was} is not here; %{now} stands in its place"
    if trace.how == NAME:
        return f"%{was} may be another one: only the name is the same"
    if was == now:
        return ""
    return f"%{was} is %{now} here" + ("" if trace.sure == CERTAIN else ", most likely")


def _computation(opened: Opened, history: History | None) -> int | None:
    """The line of the computation that the cursor was in, or of what it became."""
    want, outline = opened.want, opened.module.outline
    name = want.computation
    if history is not None and want.beside is not None:
        pairs = history.links(0).computations
        partners = {b: a for a, b in pairs.items()} if want.beside.back else pairs
        name = partners.get(name, name)
    found = outline.by_name(name) if outline is not None and name else None
    return None if found is None else found.line
