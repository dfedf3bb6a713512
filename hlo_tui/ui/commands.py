"""Every command there is: its keys, its words, and when it cannot run and why. The bindings, the footer, the
help, the palette and the README's table are all made of this."""

from __future__ import annotations

from hlo_tui.ui.command import STILL_LOOKING, STILL_READING, Command, Situation
from hlo_tui.ui.debugcommands import DEBUG, DEBUG_PANELS
from hlo_tui.ui.findcommands import FIND
from hlo_tui.ui.jobcommands import JOB
from hlo_tui.ui.laddercommands import OUTLINE
from hlo_tui.ui.maincommands import MAIN
from hlo_tui.ui.memorycommands import COSTS
from hlo_tui.ui.panelcommands import PANELS
from hlo_tui.ui.passcommands import PASSES

__all__ = ["BY_ID", "COMMANDS", "STILL_LOOKING", "STILL_READING", "Command", "Situation"]

COMMANDS = (*MAIN, *DEBUG, *PANELS, *DEBUG_PANELS, *PASSES, *FIND, *JOB, *COSTS, *OUTLINE)

BY_ID = {command.id: command for command in COMMANDS}

_SHOWN = {
    "slash": "/", "comma": ",", "full_stop": ".", "colon": ":", "question_mark": "?", "f1": "F1", "f5": "F5",
    "exclamation_mark": "!", "number_sign": "#", "left_parenthesis": "(", "right_parenthesis": ")",
    "plus": "+", "minus": "-", "less_than_sign": "<", "greater_than_sign": ">", "equals_sign": "=",
    "f9": "F9", "f10": "F10", "f11": "F11", "left_curly_bracket": "{", "right_curly_bracket": "}",
    "left_square_bracket": "[", "right_square_bracket": "]",
}  # fmt: skip


def shown_key(key: str) -> str:
    """A key as a person knows it."""
    return _SHOWN.get(key, key)


def shown_keys(command: Command) -> str:
    """All keys of a command, with a blank between them."""
    return " ".join(shown_key(key) for key in command.keys)


# What a person needs first, in the README: the ten that matter, then those that are soon missed.
_TEN = (
    "continue", "next", "step", "break", "hunt", "value", "definition", "back", "search", "help",
)  # fmt: skip
_THEN = (
    "finish", "to", "moment", "up", "down", "stops", "stop_list", "inputs", "history", "runs", "watch", "grains",
    "timeline", "memory", "users", "graph", "find_all", "match_next", "stage_previous", "stage_next",
    "ladder_up", "ladder_down", "outline", "metadata", "follow", "interrupt", "palette", "quit",
)  # fmt: skip


def key_table() -> str:
    """The first keys to know as two Markdown tables; a command and its way back in one row."""
    return f"{_table(_TEN)}\nAnd then:\n\n{_table(_THEN)}"


def _table(identities: tuple[str, ...]) -> str:
    lines = ["| key | |", "|---|---|"]
    for identity in identities:
        command, way_back = BY_ID[identity], BY_ID.get(f"{identity}_back")
        keys, words = f"`{shown_key(command.keys[0])}`", command.help
        if way_back is not None:
            capital = f"`{shown_key(way_back.keys[0])}`"
            keys, words = f"{keys} {capital}", f"{words} {capital}: {way_back.help}"
        lines.append(f"| {keys} | {words} |")
    return "\n".join(lines) + "\n"
