"""The commands that find, draw, cut out and put together: those of the main screen, and those of their screens."""

from __future__ import annotations

from hlo_tui.ui.command import Command, always, is_hlo, on_instruction
from hlo_tui.ui.passcommands import has_dump, module_open

FINDING = "Finding and giving away"
FOUND, GRAPH = "What was found", "The graph"

FIND = (
    Command("find_all", ("a",), "find in all modules", FINDING, has_dump, "find all",
            help="Find lines and instructions in all modules: a regular expression, and filters by opcode, shape, "
                 "dtype, bytes, op_name and tag."),
    Command("order", ("A",), "order of the modules", FINDING, has_dump,
            help="Put the modules in another order: the tagged and biggest first, the newest, the most recompiled, by "
                 "name."),
    Command("graph", ("e",), "graph around this instruction", FINDING, on_instruction, "graph",
            help="Draw the instruction with its operands above and its users below, and walk through it."),
    Command("extract", (), "cut this instruction out", FINDING, on_instruction,
            help="Write the instruction, with operands as deep as is asked for, as a module of its own that runs."),
    Command("extract_copy", (), "copy this instruction as a module", FINDING, on_instruction,
            help="Copy the instruction as a module of its own that runs: what comes in becomes parameters."),
    Command("bundle", (), "bundle for a bug report", FINDING, module_open,
            help="Put what a bug report needs of this module into one archive, with a summary to paste."),
    Command("picture", (), "picture of this computation", FINDING, is_hlo,
            help="Write the computation under the cursor as a .dot, .svg or .html file."),

    Command("find_new", ("slash", "a"), "find", FOUND, always, "find", on="find",
            help="Find something else."),
    Command("find_help", ("question_mark", "f1"), "help", FOUND, always, "help", on="find",
            help="Show the keys of this screen."),
    Command("find_stop", ("ctrl+c",), "stop", FOUND, always, on="find",
            help="Stop finding; else go back."),
    Command("find_close", ("q", "escape", "backspace"), "close", FOUND, always, "close", on="find",
            help="Go back; a shows what was found again."),

    Command("graph_wider", ("plus", "equals_sign"), "wider", GRAPH, always, "wider", on="graph",
            help="Show what is one more use away."),
    Command("graph_narrower", ("minus",), "narrower", GRAPH, always, "narrower", on="graph",
            help="Show what is one use less away."),
    Command("graph_center", ("f",), "around this one", GRAPH, always, "around this", on="graph",
            help="Draw what is around the instruction under the cursor."),
    Command("graph_open", ("o",), "open or close", GRAPH, always, "open", on="graph",
            help="Show what is in the fusion under the cursor instead of it, or the fusion again."),
    Command("graph_open_all", ("O",), "open or close all", GRAPH, always, on="graph",
            help="Show what is in all fusions instead of them, or the fusions again."),
    Command("graph_ways", ("t",), "ways to ...", GRAPH, always, "ways to", on="graph",
            help="Show all ways from the instruction to another one."),
    Command("graph_go", ("slash", "colon"), "another instruction", GRAPH, always, on="graph",
            help="Draw what is around another instruction: by its name, or out of a list by opcode, op_name, shape."),
    Command("graph_caller", ("u",), "caller", GRAPH, always, on="graph",
            help="Draw what is around the instruction that calls this computation."),
    Command("graph_called", ("d",), "into what it calls", GRAPH, always, on="graph",
            help="Draw what is around the root of the computation that the instruction calls; of a loop its body."),
    Command("graph_code", ("enter",), "to the code", GRAPH, always, "code", on="graph",
            help="Go to the instruction in the code."),
    Command("graph_save", ("s",), "save", GRAPH, always, "save", on="graph",
            help="Write the graph as a .dot, .svg or .html file."),
    Command("graph_earlier", ("b",), "graph before", GRAPH, always, on="graph",
            help="Draw what was drawn before."),
    Command("graph_help", ("question_mark", "f1"), "help", GRAPH, always, "help", on="graph",
            help="Show the keys of this screen; the arrow keys, and h j k l, walk along operands and users."),
    Command("graph_stop", ("ctrl+c",), "stop", GRAPH, always, on="graph",
            help="Stop drawing; else go back."),
    Command("graph_close", ("q", "escape", "backspace", "e"), "close", GRAPH, always, "close", on="graph",
            help="Go back."),
)  # fmt: skip
