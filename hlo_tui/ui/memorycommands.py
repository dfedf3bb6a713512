"""The commands about what a module costs: memory, and operations; and those of the two screens about them."""

from __future__ import annotations

from hlo_tui.ui.command import Command, Situation, always

COST = "What it costs"
MEMORY, OPERATIONS = "Memory", "Operations"


def something_open(now: Situation) -> str | None:
    """Something has to be chosen, whether it is read yet or not."""
    return None if now.opened else "open a module first"


def _on(panel: str, group: str, *commands: tuple[str, tuple[str, ...], str, str, str]) -> tuple[Command, ...]:
    """Commands of one screen: id, keys, title, footer's word, help."""
    return tuple(
        Command(f"{panel}_{name}", keys, title, group, always, footer, help, panel)
        for name, keys, title, footer, help in commands
    )


COSTS = (
    Command("memory", ("M",), "who owns the memory", COST, something_open,
            help="Show what is in use when memory is fullest, the biggest owner first, with its line of the program; "
                 "and memory over the schedule."),
    Command("operations", ("O",), "operations and bytes", COST, something_open,
            help="Show what costs the most operations and bytes, loops as often as they run, and what devices send."),
    *_on(
        "memory", MEMORY,
        ("before", ("comma", "less_than_sign"), "earlier", "move",
         "Go to the instruction before; left and right go by columns."),
        ("after", ("full_stop", "greater_than_sign"), "later", "", "Go to the next instruction."),
        ("peak", ("p",), "peak", "peak", "Go back to the fullest moment."),
        ("here", ("h",), "moment of the code", "", "Go to the instruction under the cursor of the code."),
        ("code", ("c",), "code", "code", "Show the instruction of this moment in the code."),
        ("owners", ("o",), "owners", "owners", "Show what is in use at this moment."),
        ("scopes", ("s",), "scopes", "scopes", "Show bytes by scope of the op_name."),
        ("lost", ("d",), "donations", "donations", "Show donated arguments that are copied, or not used."),
        ("map", ("a",), "allocations", "allocations", "Show what XLA allocates, and what takes turns in it."),
        ("compare", ("equals_sign",), "compare", "compare", "Compare with another dump or report."),
        ("copy", ("y",), "copy", "", "Copy the row as text."),
        ("help", ("question_mark", "f1"), "help", "help", "Show the keys of this screen."),
        ("stop", ("ctrl+c",), "stop", "", "Stop what is under way; else go back."),
        ("close", ("q", "escape", "backspace", "M"), "close", "close", "Go back."),
    ),
    *_on(
        "operations", OPERATIONS,
        ("lines", ("i",), "instructions", "instructions", "Show the instructions, the most operations first."),
        ("bytes", ("b",), "by bytes", "bytes", "Show the instructions, the most bytes first."),
        ("opcodes", ("o",), "opcodes", "opcodes", "Show sums by opcode, of those in fusions too."),
        ("scopes", ("s",), "scopes", "scopes", "Show sums by scope of the op_name."),
        ("sent", ("d",), "collectives", "collectives", "Show what devices send to one another."),
        ("copy", ("y",), "copy", "", "Copy the row as text."),
        ("help", ("question_mark", "f1"), "help", "help", "Show the keys of this screen."),
        ("stop", ("ctrl+c",), "stop", "", "Stop what is under way; else go back."),
        ("close", ("q", "escape", "backspace", "O"), "close", "close", "Go back."),
    ),
)  # fmt: skip
