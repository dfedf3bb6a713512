"""The commands about what the compiler did: those of the main screen, and those of the screens about it."""

from __future__ import annotations

from hlo_tui.ui.command import Command, Situation, always, on_instruction, when

COMPILER = "What the compiler did"
TIMELINE, DIFF, VALUES = "The timeline", "The difference", "Values of two stages"
LIFE, TAGS, BISECT = "The life of an instruction", "Tags through the stages", "The first bad pass"
RECOMPILES, COSTS, DUMPS = "Recompiles", "Where compile time went", "Two dumps"


def module_open(now: Situation) -> str | None:
    """A module has to be chosen, whether it is read yet or not."""
    return None if now.opened else "open a module first"


def has_dump(now: Situation) -> str | None:
    """There have to be modules."""
    return None if not now.empty else "there is no module yet"


def _common(panel: str, group: str, keys: tuple[str, ...] = ()) -> tuple[Command, ...]:
    """What every screen has: help, closing, and stopping what it does."""
    return (
        Command(f"{panel}_help", ("question_mark", "f1"), "help", group, always, "help", on=panel,
                help="Show the keys of this screen."),
        Command(f"{panel}_stop", ("ctrl+c",), "stop", group, always, on=panel,
                help="Stop what is under way; else go back."),
        Command(f"{panel}_close", ("q", "escape", "backspace", *keys), "close", group, always, "close", on=panel,
                help="Go back."),
    )  # fmt: skip


def _panel(
    panel: str, group: str, *commands: tuple[str, tuple[str, ...], str, str, str]
) -> tuple[Command, ...]:
    """Commands of one screen: id, keys, title, footer's word, help."""
    return tuple(
        Command(f"{panel}_{name}", keys, title, group, always, footer, help, panel)
        for name, keys, title, footer, help in commands
    )


PASSES = (
    Command("timeline", ("p",), "passes", COMPILER, module_open, "passes",
            help="Show every pass of this module in order: what it changed, and how long it took."),
    Command("changes", ("D",), "changes since the stage before", COMPILER,
            when("earlier", "there is no stage before this one"),
            help="Show what differs between this stage and the one before."),
    Command("life", ("o",), "life of this instruction", COMPILER, on_instruction,
            help="Follow the instruction through every pass: what it was, what became of it, up to its kernel."),
    Command("survival", ("K",), "tags through the stages", COMPILER, module_open,
            help="Show where each tag lives at each stage, where it is lost, and where to stop instead."),
    Command("bisect", ("P",), "which pass broke the numbers", COMPILER, module_open,
            help="Run the stages on the same inputs and find the first pass after which the outputs are others."),
    Command("recompiles", (), "why it was compiled again", COMPILER, has_dump,
            help="Show for each function why it was compiled more than once."),
    Command("costs", (), "where compile time went", COMPILER, has_dump,
            help="Show the slowest passes and modules of the dump, and how much modules grew."),
    Command("other", (), "compare with another dump or file", COMPILER, module_open,
            help="Show what differs from a file, or from a whole other dump, module by module."),
    *_panel(
        "timeline", TIMELINE,
        ("diff", ("d",), "difference", "diff", "Compare this stage with the marked one, else with the one before."),
        ("mark", ("m",), "mark", "mark", "Mark this stage as the one to compare others with."),
        ("previous", ("left_square_bracket",), "change before", "change",
         "Go to the stage before that changed something."),
        ("next", ("right_square_bracket",), "next change", "", "Go to the next stage that changed something."),
        ("filter", ("slash",), "filter", "filter", "Show only passes and pipelines with this in their names."),
    ),
    *_common("timeline", TIMELINE, ("p",)),
    *_panel(
        "diff", DIFF,
        ("hide", ("h",), "kinds", "kinds", "Choose which kinds of changes are shown: layouts, metadata, ..."),
        ("beside", ("s",), "side by side", "side by side", "Show the two texts side by side, or one above the other."),
        ("values", ("v",), "values", "values", "Run both and compare what they compute, operation by operation."),
        ("previous", ("left_square_bracket",), "pass before", "pass", "Show what the pass before changed."),
        ("next", ("right_square_bracket",), "next pass", "", "Show what the next pass changed."),
        ("copy", ("y",), "copy", "copy", "Copy the instruction as it is in the file."),
    ),
    *_common("diff", DIFF, ("D",)),
    *_panel(
        "values", VALUES,
        ("all", ("a",), "all", "all", "Show those that agree too, or only those that differ."),
        ("inputs", ("i",), "inputs", "inputs", "Run both again on other inputs."),
    ),
    *_common("life", LIFE, ("o",)),
    *_panel(
        "survival", TAGS,
        ("break", ("b",), "stop there", "stop there", "Stop where the lost tags would be, at the stage that is open."),
    ),
    *_common("survival", TAGS, ("K",)),
    *_panel(
        "bisect", BISECT,
        ("start", ("s", "c"), "start", "start", "Begin with these settings; enter on a setting changes it."),
        ("diff", ("d",), "what the pass changed", "difference", "Show all that the guilty pass changed."),
    ),
    *_common("bisect", BISECT, ("P",)),
    *_panel(
        "recompiles", RECOMPILES,
        ("diff", ("d",), "difference", "diff", "Show what differs from the compilation before."),
    ),
    *_common("recompiles", RECOMPILES),
    *_common("costs", COSTS),
    *_panel("dumps", DUMPS, ("all", ("a",), "all", "all", "Show equal ones too, or only those that differ.")),
    *_common("dumps", DUMPS),
    *_common("values", VALUES, ("v",)),
)  # fmt: skip
