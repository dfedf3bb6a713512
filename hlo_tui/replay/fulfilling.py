"""Does at each stop of a replay without a screen what was wished for: shows, saves, follows and compares values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.session import Session
from hlo_tui.replay.wishes import Wish, Wishes, index_of, other

Json = dict[str, Any]
CarryOut = Callable[[Callable[[], None]], object]

# What an event gains of each kind of wish.
FIELDS = {"show": "shown", "origin": "origins", "save": "saved", "compare": "compared"}


class Fulfilling:
    """Carries out wishes where a session stands.

    Attributes:
        differs: whether a comparison was out of tolerance.
    """

    def __init__(self, session: Session, wishes: Wishes, devices: int, carry_out: CarryOut) -> None:
        """Take a session that stands at the beginning.

        Args:
            session: it.
            wishes: what to do.
            devices: that the module runs on.
            carry_out: gives a command to the session, waits for it, and raises what went wrong.

        Raises:
            HloTuiError: a wish is about what is not in the module, or to be saved where nothing may be.
        """
        self._session = session
        self._wishes = wishes
        self._carry_out = carry_out
        self._done: dict[Wish, set[tuple[int, ...]]] = {wish: set() for wish in wishes.wishes}
        self._last: dict[Wish, Json] = {}
        self._partition = wishes.partition if devices > 1 else None
        self.differs = False
        compared = (other(wish.to).get("partition", 0) for wish in wishes.wishes if wish.kind == "compare")
        for partition in (wishes.partition, *compared):
            if partition >= devices:
                raise HloTuiError("no such partition", f"{partition}: the module runs on {devices} devices")
        for wish in wishes.wishes:
            path = {"path": wish.to} if wish.kind == "save" else {}
            self._ask(wish, "check", slice=wish.place.slice, array=wish.kind != "show", **path)

    def settings(self) -> list[Json]:
        """Change what is to be changed, from the beginning on: an event for each.

        Raises:
            HloTuiError: what is to be changed is not met, or cannot be changed so.
        """
        events: list[Json] = []
        for setting in self._wishes.settings:
            count = len(events)
            self._carry_out(partial(self._session.change_first, setting.spec, setting.to, events.append))
            if len(events) == count:
                raise HloTuiError(
                    "nothing was set", self._session.state.said, "hlo-tui replay --break shows what is met"
                )
            events[-1] = {**events[-1], "event": "set", "to": setting.to}
        return events

    def here(self, end: bool = False) -> Json:
        """What the event of where the session stands gains: for each kind of wish a list of what was done.

        What was done with this run of a value is not done again; only "show" is, but for the end, and says so.
        """
        found: Json = {FIELDS[wish.kind]: [] for wish in self._wishes.wishes}
        for wish in self._wishes.wishes:
            there = self._ask(wish, "there")
            key = tuple(there.get("key", ()))
            again = key in self._done[wish]
            if there["state"] != "here" or (again and (end or wish.kind != "show")):
                continue
            found[FIELDS[wish.kind]].append(
                {**self._do(wish, there), **({"again": again} if wish.kind == "show" else {})}
            )
            if not again:
                self._done[wish].add(key)
                self._last[wish] = there
        return found

    def never(self) -> list[str]:
        """The values that were nowhere there."""
        return [wish.place.text for wish, done in self._done.items() if not done]

    def _do(self, wish: Wish, there: Json) -> Json:
        head = {"name": wish.place.text, "instruction": wish.place.instruction, "partition": self._partition}
        head |= {name: there[name] for name in ("computation", "path", "source")}
        sliced = {"slice": wish.place.slice} if wish.kind == "show" and wish.place.slice is not None else {}
        seen = self._ask(wish, "shown", **sliced)
        if wish.kind == "show" or "unknown" in seen["value"]:
            return {**head, **sliced, **seen}
        which = {**wish.place.which(), "computation": there["computation"]}
        deeds = {"origin": self._origin, "save": self._save, "compare": self._compare}
        return {**head, **deeds[wish.kind](wish, which)}

    def _origin(self, wish: Wish, which: Json) -> Json:
        index = index_of(wish.place)
        if index is None:
            worst = self._ask(wish, "worst", value=which)["worst"]
            if worst is None:
                return {"index": None, "places": [], "complete": True}
            index = worst["index"]
        return {"index": index, **self._ask(wish, "trace", value=which, index=index)}

    def _save(self, wish: Wish, which: Json) -> Json:
        number = len(self._done[wish]) + 1
        path = wish.to if number == 1 else f"{wish.to.removesuffix('.npy')}-{number}.npy"
        done = self._ask(wish, "save", value=which, path=path, slice=wish.place.slice or "")
        return {"file": done["path"], "bytes": done["bytes"]}

    def _compare(self, wish: Wish, which: Json) -> Json:
        mine = {**which, "element": list(wish.place.element), "partition": self._partition or 0}
        with_last = wish.to == "last"
        if with_last and wish not in self._last:
            return {"with": wish.to, "exact": None}
        last = {"position": self._last[wish]["position"]} if with_last else {}
        params = {
            "value": mine,
            "other": {**mine, **last, **other(wish.to)},
            "tolerance": self._wishes.tolerance,
        }
        found = self._ask(wish, "compare", **params)
        self.differs |= not found["within"]
        return {"with": wish.to, **found}

    def _ask(self, wish: Wish, what: str, **more: Any) -> Json:
        answers: list[Json] = []
        part = {"element": list(wish.place.element), "partition": self._partition}
        params = {"what": what, "value": wish.place.which(), **part, **more}
        self._carry_out(partial(self._session.inspect, params, answers.append))
        return answers[0]
