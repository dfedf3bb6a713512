"""The commands of the debugger that go beyond moving about, and those of its screens."""

from __future__ import annotations

from hlo_tui.ui.command import Command, always, is_hlo
from hlo_tui.ui.maincommands import STOPS

_STOPS = "The list of stops"

DEBUG = (
    Command("stop_list", ("L",), "list of stops", STOPS, is_hlo,
            help="List all stops with what they mean and how often they were met; change them there."),
)  # fmt: skip

DEBUG_PANELS = (
    Command("stop_list_switch", ("b", "f9"), "on or off", _STOPS, always, "on/off", on="stop_list",
            help="Switch the stop off, or on again; of the tags each by itself too."),
    Command("stop_list_add", ("a", "B"), "add", _STOPS, always, "add", on="stop_list",
            help="Stop at operations by opcode, op_name, source line or tag, under conditions."),
    Command("stop_list_edit", ("e",), "edit", _STOPS, always, "edit", on="stop_list",
            help="Write the stop in another way."),
    Command("stop_list_condition", ("c",), "condition", _STOPS, always, "condition", on="stop_list",
            help="Stop only where the value is so: nan, inf, abs>1e4, iteration==7, joined by and, or, not."),
    Command("stop_list_hits", ("h",), "hit count", _STOPS, always, "hits", on="stop_list",
            help="Stop only from the how manieth time on."),
    Command("stop_list_once", ("o",), "once", _STOPS, always, "once", on="stop_list",
            help="Stop there one time and then never more, or always again."),
    Command("stop_list_delete", ("d", "delete"), "delete", _STOPS, always, "delete", on="stop_list",
            help="Take the stop away."),
    Command("stop_list_help", ("question_mark", "f1"), "help", _STOPS, always, "help", on="stop_list",
            help="Show these keys."),
    Command("stop_list_close", ("q", "escape", "backspace", "L", "ctrl+c"), "close", _STOPS, always, "close",
            on="stop_list", help="Go back to the code."),
)  # fmt: skip
