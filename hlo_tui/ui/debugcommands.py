"""The commands of the debugger that go beyond moving about, and those of its screens."""

from __future__ import annotations

from hlo_tui.ui.command import (
    Command,
    Situation,
    always,
    idle,
    is_hlo,
    on_instruction,
    replayed,
    standing,
    when,
)
from hlo_tui.ui.maincommands import REPLAY, STOPS

_STOPS = "The list of stops"
_HISTORY = "The history"
_INPUTS = "The inputs"
_RUNS = "The recorded runs"
_GRAINS = "The grains"


def can_hunt(now: Situation) -> str | None:
    """The replay must be able to begin, or stand wherever it likes."""
    return is_hlo(now) if now.replay == "none" or now.elsewhere else idle(now)


def can_look(now: Situation) -> str | None:
    """The same, with the cursor on an instruction."""
    return on_instruction(now) or can_hunt(now)


def with_runs(now: Situation) -> str | None:
    """The job has to have recorded runs of the module."""
    return is_hlo(now) or (None if now.runs else "no run was recorded: --xla_dump_hlo_snapshots does")


def on_devices(now: Situation) -> str | None:
    """It has to run on several devices."""
    return standing(now) or (None if now.partitions else "the module runs on one device")


DEBUG = (
    Command("hunt", ("exclamation_mark",), "run to NaN or infinity", REPLAY, can_hunt, "NaN",
            help="Run to the first operation that makes a NaN or an infinity; names can be left out."),
    Command("moment", ("right_parenthesis",), "next time that ...", REPLAY, can_look,
            help="Run to the next time that the instruction under the cursor is so (max>1e4), or to an iteration."),
    Command("moment_back", ("left_parenthesis",), "last time that ...", REPLAY, can_look,
            help="Go back to the last time that the instruction under the cursor was so: finite, for one."),
    Command("watch", ("W",), "pin the value", STOPS, on_instruction,
            help="Show the value of the instruction under the cursor at each stop, or do not any more."),
    Command("partition", ("number_sign",), "partition", STOPS, on_devices,
            help="Choose the partition whose values are shown; which of them differ."),
    Command("inputs", ("I",), "inputs", STOPS, can_hunt,
            help="Show the inputs; begin again on others, change, load and save them; supply what is unknown."),
    Command("restart", (), "begin again", REPLAY, standing,
            help="Go before the first instruction, on the same inputs; changed values and the history are forgotten."),
    Command("allow_memory", (), "allow more memory", REPLAY, always,
            help="Let a replay take more than half of the memory that is free."),
    Command("save_crash", (), "save the crash", REPLAY, when("crashed", "XLA has not ended the engine"),
            help="Save what XLA died of as a small program that does it again."),
    Command("runs", ("X",), "recorded runs", REPLAY, with_runs,
            help="Show the health of each recorded run of this module; open one, find the first bad one."),
    Command("grains", ("equals_sign",), "compare grains", STOPS, standing,
            help="Compare the value here in all grains; the module; and name the fusion that computes something else."),
    Command("history", ("H",), "history", REPLAY, replayed,
            help="List all stops so far, to go back to any of them."),
    Command("stop_list", ("L",), "list of stops", STOPS, is_hlo,
            help="List all stops with what they mean and how often they were met; change them there."),
)  # fmt: skip

DEBUG_PANELS = (
    Command("input_list_edit", ("e",), "change", _INPUTS, idle, "change", on="input_list",
            help="Put another value in the place of a parameter."),
    Command("input_list_seed", ("s",), "seed", _INPUTS, idle, "seed", on="input_list",
            help="Begin again on inputs made from another seed."),
    Command("input_list_load", ("l",), "load", _INPUTS, idle, "load", on="input_list",
            help="Begin again on inputs from a .npz, .npy or snapshot file."),
    Command("input_list_save", ("w",), "write", _INPUTS, idle, "write", on="input_list",
            help="Write the inputs, with changed ones among them, as a .npz file."),
    Command("input_list_drop", ("d", "delete"), "take away", _INPUTS, idle, "take away", on="input_list",
            help="Take a supplied value away again."),
    Command("input_list_undo", ("u",), "undo changes", _INPUTS, idle, "undo", on="input_list",
            help="Take all changed values away."),
    Command("input_list_help", ("question_mark", "f1"), "help", _INPUTS, always, "help", on="input_list",
            help="Show these keys."),
    Command("input_list_close", ("q", "escape", "backspace", "I", "ctrl+c"), "close", _INPUTS, always, "close",
            on="input_list", help="Go back to the code."),
    Command("run_list_first", ("f",), "first bad one", _RUNS, always, "first bad", on="run_list",
            help="Find the first run that is not finite by halving: the fewest runs are made for it."),
    Command("run_list_help", ("question_mark", "f1"), "help", _RUNS, always, "help", on="run_list",
            help="Show these keys; enter replays a run, right shows its values against those of the run before."),
    Command("run_list_close", ("q", "escape", "backspace", "X", "ctrl+c"), "close", _RUNS, always, "close",
            on="run_list", help="Go back to the code."),
    Command("grain_list_module", ("m",), "module", _GRAINS, idle, "module", on="grain_list",
            help="Run the whole module in all grains; enter goes to a fusion that differs."),
    Command("grain_list_help", ("question_mark", "f1"), "help", _GRAINS, always, "help", on="grain_list",
            help="Show these keys."),
    Command("grain_list_close", ("q", "escape", "backspace", "equals_sign", "ctrl+c"), "close", _GRAINS, always,
            "close", on="grain_list", help="Go back to the code."),
    Command("history_filter", ("slash",), "filter", _HISTORY, always, "filter", on="history",
            help="Show only stops with these words in name, computation or reason."),
    Command("history_bad", ("exclamation_mark",), "bad ones", _HISTORY, always, "bad ones", on="history",
            help="Show only stops whose value has a NaN or an infinity, or all of them again."),
    Command("history_help", ("question_mark", "f1"), "help", _HISTORY, always, "help", on="history",
            help="Show these keys."),
    Command("history_close", ("q", "escape", "backspace", "H", "ctrl+c"), "close", _HISTORY, always, "close",
            on="history", help="Go back to the code."),
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
    Command("stop_list_ends", ("f",), "first and last", _STOPS, always, "ends", on="stop_list",
            help="Stop only at the first and last operation of a block, as a context manager tags one, or at each."),
    Command("stop_list_help", ("question_mark", "f1"), "help", _STOPS, always, "help", on="stop_list",
            help="Show these keys."),
    Command("stop_list_close", ("q", "escape", "backspace", "L", "ctrl+c"), "close", _STOPS, always, "close",
            on="stop_list", help="Go back to the code."),
)  # fmt: skip
