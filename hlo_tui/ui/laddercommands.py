"""The commands that go through the outline of a file and along the ladder of stages."""

from __future__ import annotations

from hlo_tui.ui.command import Command, Situation, on_instruction, scanned

LADDER = "Outline and ladder"


def on_line(now: Situation) -> str | None:
    """In HLO the cursor has to be on an instruction; other files have lines that mean something."""
    return on_instruction(now) if now.hlo else scanned(now)


OUTLINE = (
    Command("outline", ("V",), "outline", LADDER, scanned,
            help="List the functions, kernels, passes or computations of this file, to go to one."),
    Command("ladder", ("U",), "ladder", LADDER, on_line,
            help="List what is under the cursor in the jaxpr, in StableHLO, before and after the passes, and in "
                 "the code that was made of it."),
    Command("ladder_up", ("left_curly_bracket",), "up to the program", LADDER, on_line,
            help="Go a rung up: from code to HLO, StableHLO and the jaxpr."),
    Command("ladder_down", ("right_curly_bracket",), "down to the code", LADDER, on_line,
            help="Go a rung down: from the jaxpr to StableHLO, HLO and the code."),
)  # fmt: skip
