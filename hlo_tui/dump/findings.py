"""What comes of looking into the causes of an empty or partial dump, and what is known while looking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hlo_tui.dump import doctor
from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.modules import Module
from hlo_tui.dump.processes import Process
from hlo_tui.hlo.visible import visible

# It explains something that is missing; it may, and cannot be told from here; it was not asked for; it is not so.
FOUND, POSSIBLE, UNASKED, NOT_SO = "found", "possible", "not asked for", "not so"


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of looking into one cause.

    Attributes:
        cause: its name, the same for ever.
        state: one of `FOUND`, `POSSIBLE`, `UNASKED`, `NOT_SO`.
        words: what was seen, a sentence, safe for a terminal.
        remedy: what to type or to do; empty where there is nothing to do.
    """

    cause: str
    state: str
    words: str
    remedy: str = ""


@dataclass(frozen=True)
class Case:
    """What is known when a dump is looked into.

    Attributes:
        root: the directory's path.
        catalog: what is in it.
        unread: directories that could not be read, with the reason.
        environ: the environment of who asks, which may be the job's too.
        processes: running programs with XLA.
        options: what XLA says it compiled with.
    """

    root: str
    catalog: Catalog
    unread: Mapping[str, str]
    environ: Mapping[str, str]
    processes: Sequence[Process] = ()
    options: Sequence[Mapping[str, str]] = field(default=())

    @property
    def modules(self) -> list[Module]:
        """The modules of the dump."""
        return self.catalog.modules

    @property
    def kinds(self) -> set[str]:
        """The kinds of all stages."""
        return {stage.point.kind for module in self.modules for stage in module.stages}

    def option(self, name: str) -> str:
        """What XLA was told, "" where it was not."""
        return next((options[name] for options in self.options if name in options), "")

    def side(self, *kinds: str) -> int:
        """How many side files of some kinds there are."""
        return sum(file.name.kind in kinds for module in self.modules for file in module.others)

    def flags(self, *more: str) -> str:
        """How to start the job."""
        return visible(f"{doctor.dump_flags(self.root, *more)} python train.py")


def to_json(root: str, case: Sequence[Finding]) -> dict[str, Any]:
    """The findings as one document."""
    return {
        "root": root,
        "findings": [
            {"cause": one.cause, "state": one.state, "words": one.words, "remedy": one.remedy} for one in case
        ],
    }


_TITLES = {
    FOUND: "What was found:",
    POSSIBLE: "What may be, and cannot be told from here:",
    UNASKED: "What was not asked for:",
    NOT_SO: "What is not so:",
}


def to_text(findings: Sequence[Finding]) -> str:
    """The findings for people, lines safe for a terminal."""
    lines: list[str] = []
    for state, title in _TITLES.items():
        some = [one for one in findings if one.state == state]
        if some:
            lines += [*([""] if lines else []), title]
        for one in some:
            lines.append(f"  {one.cause}: {one.words}")
            if one.remedy:
                lines.append(f"    -> {one.remedy}")
    return "\n".join(lines)
