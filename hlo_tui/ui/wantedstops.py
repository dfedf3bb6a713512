"""What to stop at in each module: what the person asked for, kept by the module's name from session to session."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.opened import Opened, Want

if TYPE_CHECKING:
    from hlo_tui.replay.saved import SavedStops
    from hlo_tui.replay.stopspec import StopSpec


class WantedStops:
    """The stops of all modules of a dump. Stages of a module, and modules of one name, share theirs.

    What every module is to be stopped at besides holds for as long as the screen is there; the names that it leaves
    out are those of one module: in another one they may be what is looked for.
    """

    def __init__(self, watched: Path | None = None) -> None:
        """Take the dump whose stops are kept from session to session; None keeps them nowhere."""
        self._watched = watched
        self._saved: SavedStops | None = None
        self._own: dict[str, tuple[StopSpec, ...]] = {}
        self._from_before: set[str] = set()
        self._everywhere: StopSpec | None = None
        self._left_out: dict[str, str] = {}

    def everywhere(self, want: Want) -> StopSpec | None:
        """What holds in every module, with the names that it leaves out in this one."""
        return None if self._everywhere is None else self._in(want, self._everywhere)

    def hold_everywhere(self, want: Want, spec: StopSpec | None) -> None:
        """Stop where this holds in every module, until it is taken back with None; its names are left out in `want`."""
        if spec is None:
            self._everywhere, self._left_out = None, {}
            return
        self._everywhere = replace(spec, detail="")
        self._left_out[name_of(want)] = spec.detail

    def _in(self, want: Want, spec: StopSpec) -> StopSpec:
        return replace(spec, detail=self._left_out.get(name_of(want), ""))

    def of(self, want: Want) -> tuple[StopSpec, ...]:
        """What to stop at in a module."""
        own, everywhere = self.own(want), self.everywhere(want)
        return own if everywhere is None or everywhere in own else (*own, everywhere)

    def own(self, want: Want) -> tuple[StopSpec, ...]:
        """The same without what holds everywhere; the tags where nothing else was asked for."""
        from hlo_tui.replay.stopspec import TAGS

        name = name_of(want)
        if name not in self._own:
            saved = self._kept()
            self._own[name] = (TAGS,) if saved is None else saved.load(name)
            if self._own[name] != (TAGS,):
                self._from_before.add(name)
        return self._own[name]

    def from_before(self, want: Want) -> bool:
        """Whether a module's stops are those that were set in an earlier session, which has not been said yet."""
        name = name_of(want)
        told = name in self._from_before
        self._from_before.discard(name)
        return told

    def put(self, want: Want, specs: tuple[StopSpec, ...]) -> None:
        """Stop at these in a module from now on."""
        everywhere = self.everywhere(want)
        kept = tuple(dict.fromkeys(spec for spec in specs if spec != everywhere))
        self._own[name_of(want)] = kept

    def save(self, want: Want) -> None:
        """Keep the stops of a module for the next session.

        Raises:
            HloTuiError: they cannot be written.
        """
        saved = self._kept()
        if saved is not None:
            saved.save(name_of(want), self.own(want))

    def _kept(self) -> SavedStops | None:
        from hlo_tui.replay.saved import SavedStops

        if self._saved is None and self._watched is not None:
            self._saved = SavedStops(self._watched)
        return self._saved

    def met(self, want: Want, specs: tuple[StopSpec, ...]) -> None:
        """Take in what a replay still stops at: what was to stop only once may be gone."""
        own = self.own(want)
        left = tuple(spec for spec in own if not spec.once or not spec.enabled or spec in specs)
        if left != own:
            self.put(want, left)
            # Where stops cannot be kept, that was said when they were set.
            with contextlib.suppress(HloTuiError):
                self.save(want)

    def toggle(
        self,
        opened: Opened,
        computation: str,
        instruction: str,
        anchor: tuple[str, str],
        inside: bool = False,
    ) -> bool:
        """Set a stop at an instruction or take it away, a tag switched off or on; whether there is one now.

        Args:
            opened: the module.
            computation: of the instruction.
            instruction: its name.
            anchor: its opcode and op_name, to find it again in a module that is compiled anew.
            inside: whether its tag is inside a block of which only the ends are stops.
        """
        from hlo_tui.replay.stopspec import StopSpec

        specs = self.own(opened.want)
        mine = StopSpec("instruction", instruction, computation, anchor=anchor)
        there = [spec for spec in specs if spec.same_place(mine)]
        tagged = any(
            (one.computation, one.instruction) == (computation, instruction) for one in opened.tagged
        )
        by_tag = tagged and not inside and any(spec.kind == "tags" and spec.enabled for spec in specs)
        left = tuple(spec for spec in specs if not spec.same_place(mine))
        stopping = any(spec.enabled for spec in there) or (by_tag and not there)
        if stopping:
            self.put(opened.want, (*left, replace(mine, enabled=False)) if by_tag else left)
        else:
            self.put(opened.want, left if by_tag else (*left, mine))
        return not stopping


def name_of(want: Want) -> str:
    """What the stops of a module are kept under: its name, or the file's where that is not known."""
    key = want.place.module
    return (key.name if key is not None else "") or want.member or want.path.name
