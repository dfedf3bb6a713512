"""Every command there is: its keys, its words, and when it cannot run and why. The bindings, the footer, the
help, the palette and the README's table are all made of this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Situation:
    """What the commands depend on.

    Attributes:
        pane: where the focus is: "modules", "code", "info" or "replay".
        opened: whether a file is open.
        scanned: whether all of it is known.
        hlo: whether it is HLO.
        looked: whether the line under the cursor has been looked at.
        instruction: whether the cursor is on an instruction.
        name: whether there is a name on the line to go to.
        replay: "none", "busy", "standing", "dead" or "failed".
        at: where it stands: "begin", "stop" or "end".
        elsewhere: whether what is replayed is another module than the one that is open.
        pattern: whether something has been searched for.
        back, forward: whether there is a place to go to.
        earlier, later: whether there is a stage before or after this one.
        changed: whether the open file was replaced.
        task: whether something is being read or searched.
        empty: whether there is no module, and a command to copy instead of a line.
    """

    pane: str = "modules"
    opened: bool = False
    scanned: bool = False
    hlo: bool = False
    looked: bool = True
    instruction: bool = False
    name: bool = False
    replay: str = "none"
    at: str = "begin"
    elsewhere: bool = False
    pattern: bool = False
    back: bool = False
    forward: bool = False
    earlier: bool = False
    later: bool = False
    changed: bool = False
    task: bool = False
    empty: bool = False


Check = Callable[[Situation], str | None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        id: its name in the program.
        keys: as Textual calls them; none for a command of the palette alone.
        title: what it does, a few words.
        group: the heading under which the help has it.
        check: gives None where it can run, else why it cannot.
        footer: its word in the footer, empty where it is not there.
        help: what it does, a sentence.
        on: the screen that it is on: "main", or "value" for the one that looks at a value.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    group: str
    check: Check
    footer: str = ""
    help: str = ""
    on: str = "main"


# Reasons that go away by themselves: a command that is asked for meanwhile is run then.
STILL_READING = "the file is still being read"
STILL_LOOKING = "the line is still being looked at"


def _always(_: Situation) -> str | None:
    return None


def _opened(now: Situation) -> str | None:
    return None if now.opened else "open a module first"


def _scanned(now: Situation) -> str | None:
    return _opened(now) or (None if now.scanned else STILL_READING)


def _copyable(now: Situation) -> str | None:
    return None if now.empty else _scanned(now)


def _hlo(now: Situation) -> str | None:
    return _scanned(now) or (None if now.hlo else "this file is no HLO")


def _instruction(now: Situation) -> str | None:
    if not now.looked:
        return _hlo(now) or STILL_LOOKING
    return _hlo(now) or (None if now.instruction else "the cursor is on no instruction")


def _looked(now: Situation) -> str | None:
    return _hlo(now) or (None if now.looked else STILL_LOOKING)


def _named(now: Situation) -> str | None:
    return _hlo(now) or (None if now.name else "there is no name on this line")


def _idle(now: Situation) -> str | None:
    return "the replay is at work: ctrl+c stops it" if now.replay == "busy" else None


def _forward(now: Situation) -> str | None:
    if now.replay == "none" or now.elsewhere:
        return _hlo(now)
    if now.replay == "standing" and now.at == "end":
        return "the replay is at its end"
    return _idle(now)


def _running(now: Situation) -> str | None:
    if now.replay == "none":
        return "nothing is being replayed: c begins"
    if now.elsewhere:
        return "another module is being replayed"
    return _idle(now)


def _backward(now: Situation) -> str | None:
    return _running(now) or ("the replay is at its beginning" if now.at == "begin" else None)


def _inside(now: Situation) -> str | None:
    return _running(now) or (None if now.at == "stop" else "the replay is in no computation")


def _here(now: Situation) -> str | None:
    return _instruction(now) or _forward(now)


def _here_back(now: Situation) -> str | None:
    return _instruction(now) or _backward(now)


def _replayed(now: Situation) -> str | None:
    return None if now.replay != "none" else "nothing is being replayed: c begins"


def _value(now: Situation) -> str | None:
    return _instruction(now) or _running(now)


def _when(fact: str, reason: str) -> Check:
    def check(now: Situation) -> str | None:
        return None if getattr(now, fact) else reason

    return check


def _interruptible(now: Situation) -> str | None:
    return None if now.replay == "busy" or now.task else "nothing is under way; twice quits"


REPLAY, BACKWARD, STOPS = "Replay", "Backwards in time", "Stops and values"
CODE, MODULES, SCREEN = "Code", "Modules and stages", "The screen"
VALUE = "The value screen"

COMMANDS = (
    Command("continue", ("c", "f5"), "continue", REPLAY, _forward, "continue",
            help="Run to the next stop; begins the replay."),
    Command("next", ("n", "f10"), "next", REPLAY, _forward, "next",
            help="Run this instruction; go to the next one here."),
    Command("step", ("s", "f11"), "step in", REPLAY, _forward, "step in",
            help="Go into what this instruction calls."),
    Command("finish", ("f",), "finish", REPLAY, _inside, "finish",
            help="Run to the end of this computation."),
    Command("to", ("t",), "run to here", REPLAY, _here, "to here",
            help="Run until the instruction under the cursor is reached."),
    Command("up", ("u",), "frame up", REPLAY, _inside,
            help="Show the instruction that called this computation."),
    Command("down", ("d",), "frame down", REPLAY, _inside,
            help="Show the next computation towards where the replay stands."),
    Command("continue_back", ("C",), "back to the stop before", BACKWARD, _backward, "back",
            help="Go back to the stop before this one."),
    Command("next_back", ("N",), "back by one", BACKWARD, _backward,
            help="Go back to the instruction before this one."),
    Command("step_back", ("S",), "step back in", BACKWARD, _backward,
            help="Go back into what the instruction before called."),
    Command("finish_back", ("F",), "back to the beginning here", BACKWARD, _inside,
            help="Go back to where this computation began."),
    Command("to_back", ("T",), "back to here", BACKWARD, _here_back,
            help="Go back until the instruction under the cursor is reached."),
    Command("break", ("b", "f9"), "stop here or not", STOPS, _instruction, "break",
            help="Set a stop at the instruction under the cursor, or take it away; a tagged one is "
                 "switched off and on."),
    Command("stops", ("B",), "stop at ...", STOPS, _hlo,
            help="Stop at operations by opcode, op_name, source line or tag, under conditions, or at the "
                 "first NaN."),
    Command("value", ("v",), "value", STOPS, _value, "value",
            help="Compute the value of the instruction under the cursor and look at it closely."),
    Command("information", ("i",), "inputs and engine", STOPS, _replayed,
            help="What the replay runs on: inputs, seed, grain, versions, and whether it is "
                 "faithful to the job."),
    Command("whole", (), "grain: whole", STOPS, _running,
            help="Compute long stretches as XLA would compile them."),
    Command("unit", (), "grain: unit", STOPS, _running,
            help="Compute instruction by instruction, fusions as one: what the job computes."),
    Command("body", (), "grain: body", STOPS, _running,
            help="Compute inside of fusions too, operation by operation: the reference."),
    Command("end_replay", (), "end the replay", STOPS, _replayed,
            help="End the engine and forget where it stood."),
    Command("definition", ("enter",), "go to definition", CODE, _named, "definition",
            help="Go to where the name under the cursor is defined; in a list: open."),
    Command("users", ("x",), "users", CODE, _looked, "users",
            help="List who uses the value, or who calls the computation."),
    Command("back", ("backspace", "alt+left"), "back", CODE, _when("back", "nowhere to go back to"),
            help="Go back to where the cursor was before a jump."),
    Command("forward", ("alt+right",), "forward", CODE, _when("forward", "nowhere to go"),
            help="Go forward again."),
    Command("search", ("slash",), "find", CODE, _always, "find",
            help="Find text or a regular expression; in the modules: filter."),
    Command("match_previous", ("comma",), "previous match", CODE,
            _when("pattern", "nothing has been searched for: / does"),
            help="Go to the match before."),
    Command("match_next", ("full_stop",), "next match", CODE,
            _when("pattern", "nothing has been searched for: / does"),
            help="Go to the next match."),
    Command("line", ("colon",), "go to line or name", CODE, _scanned,
            help="Go to a line number, an instruction or a computation."),
    Command("top", ("g",), "first line", CODE, _opened,
            help="Go to the first line."),
    Command("bottom", ("G",), "last line", CODE, _scanned,
            help="Go to the last line."),
    Command("metadata", ("m",), "metadata", CODE, _opened, "metadata",
            help="Show lines in full, or with metadata, configurations and long types folded."),
    Command("fold", ("z",), "fold", CODE, _scanned,
            help="Fold or open the computation under the cursor."),
    Command("fold_all", ("Z",), "fold all", CODE, _scanned,
            help="Fold all computations, or open them all."),
    Command("copy", ("y",), "copy", CODE, _copyable,
            help="Copy the line as it is in the file; the command that makes a job dump, where nothing is."),
    Command("stage_previous", ("left_square_bracket",), "stage before", MODULES,
            _when("earlier", "there is no stage before this one"), "stage",
            help="Show the same place one stage or pass earlier."),
    Command("stage_next", ("right_square_bracket",), "stage after", MODULES,
            _when("later", "there is no stage after this one"),
            help="Show the same place one stage or pass later."),
    Command("follow", ("w",), "follow", MODULES, _always,
            help="Open each new module as it appears, or stop doing so."),
    Command("reload", ("r",), "reload", MODULES,
            _when("changed", "the file on disk is the one that is shown"),
            help="Read the open file again after it was replaced."),
    Command("pane_modules", ("1",), "modules", SCREEN, _always,
            help="Go to the modules."),
    Command("pane_code", ("2",), "code", SCREEN, _always,
            help="Go to the code."),
    Command("pane_info", ("3",), "info", SCREEN, _always,
            help="Go to what is known of the line under the cursor."),
    Command("pane_replay", ("4",), "replay", SCREEN, _always,
            help="Go to the replay."),
    Command("pane_next", ("tab",), "next pane", SCREEN, _always,
            help="Go to the next pane."),
    Command("pane_previous", ("shift+tab",), "pane before", SCREEN, _always,
            help="Go to the pane before."),
    Command("interrupt", ("ctrl+c",), "interrupt", SCREEN, _interruptible,
            help="Stop what is under way; twice quits when nothing is."),
    Command("redraw", ("ctrl+l",), "draw again", SCREEN, _always,
            help="Draw all of the screen again, where something else has written on it."),
    Command("theme", (), "next theme", SCREEN, _always,
            help="Change the colours."),
    Command("help", ("question_mark", "f1"), "help", SCREEN, _always, "help",
            help="Show the keys that do something now."),
    Command("palette", ("ctrl+p",), "all commands", SCREEN, _always,
            help="Find a command or a module by typing a part of its name."),
    Command("value_slice", ("g",), "slice", VALUE, _idle, "slice", on="value",
            help="Show other elements: numbers, ranges and an ellipsis, as numpy writes them."),
    Command("value_worst", ("w",), "worst", VALUE, _idle, "worst", on="value",
            help="Show the elements around the first NaN, else infinity, else the largest."),
    Command("value_origin", ("o",), "origin", VALUE, _idle, "origin", on="value",
            help="Follow an element back to where it comes from."),
    Command("value_compare", ("equals_sign",), "compare", VALUE, _idle, "compare", on="value",
            help="Compare with the value at another stop at the same instruction."),
    Command("value_change", ("e",), "change", VALUE, _idle, "change", on="value",
            help="Put another value in its place and go on from there."),
    Command("value_save", ("s",), "save", VALUE, _idle, "save", on="value",
            help="Write the array as a .npy file."),
    Command("value_close", ("q", "escape", "backspace", "v", "ctrl+c"), "close", VALUE, _always, "close", on="value",
            help="Go back to the code."),
    Command("undo", (), "take changed values away", STOPS, _running,
            help="Compute everything again as it was before values were changed."),
    Command("inputs", ("I",), "other inputs", STOPS, _running,
            help="Begin again on other inputs: auto, made, zeros, or a file."),
    Command("quit", ("q", "ctrl+q"), "quit", SCREEN, _always, "quit",
            help="Leave. The terminal is as it was before."),
)  # fmt: skip

BY_ID = {command.id: command for command in COMMANDS}

_SHOWN = {
    "slash": "/", "comma": ",", "full_stop": ".", "colon": ":", "question_mark": "?", "f1": "F1", "f5": "F5",
    "equals_sign": "=", "f9": "F9", "f10": "F10", "f11": "F11", "left_square_bracket": "[", "right_square_bracket": "]",
}  # fmt: skip


def shown_key(key: str) -> str:
    """A key as a person knows it."""
    return _SHOWN.get(key, key)


def shown_keys(command: Command) -> str:
    """All keys of a command, with a blank between them."""
    return " ".join(shown_key(key) for key in command.keys)


# What a person needs first, in the README.
_FIRST = (
    "continue", "next", "step", "finish", "to", "up", "down", "break", "stops", "value", "definition", "users",
    "back", "search", "match_next", "stage_previous", "stage_next", "metadata", "follow", "interrupt", "help",
    "palette", "quit",
)  # fmt: skip


def key_table() -> str:
    """The first keys to know as a Markdown table; a command and its way back in one row."""
    lines = ["| key | |", "|---|---|"]
    for identity in _FIRST:
        command, way_back = BY_ID[identity], BY_ID.get(f"{identity}_back")
        keys, words = f"`{shown_key(command.keys[0])}`", command.help
        if way_back is not None:
            capital = f"`{shown_key(way_back.keys[0])}`"
            keys, words = f"{keys} {capital}", f"{words} {capital}: {way_back.help}"
        lines.append(f"| {keys} | {words} |")
    return "\n".join(lines) + "\n"
