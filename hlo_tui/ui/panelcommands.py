"""The commands of the screens that come over the main one; each has its own."""

from __future__ import annotations

from hlo_tui.ui.command import Command, always, idle

VALUE = "The value screen"

PANELS = (
    Command("value_slice", ("g",), "slice", VALUE, idle, "slice", on="value",
            help="Show other elements: numbers, ranges and an ellipsis, as numpy writes them."),
    Command("value_worst", ("w",), "worst", VALUE, idle, "worst", on="value",
            help="Show the elements around the first NaN, else infinity, else the largest."),
    Command("value_origin", ("o",), "origin", VALUE, idle, "origin", on="value",
            help="Follow an element back to where it comes from."),
    Command("value_compare", ("equals_sign",), "compare", VALUE, idle, "compare", on="value",
            help="Compare with another stop, partition, iteration or grain; with another stage: D in the code, v."),
    Command("value_iterations", ("i",), "iterations", VALUE, idle, "iterations", on="value",
            help="Show how the value goes over the iterations of the loop around it."),
    Command("value_range", ("r",), "range", VALUE, idle, "range", on="value",
            help="Mark the elements that are out of a range, and list the first of them."),
    Command("value_copy", ("y",), "copy", VALUE, idle, on="value",
            help="Copy the elements of the table, with tabs between them."),
    Command("value_partition", ("p",), "next partition", VALUE, idle, on="value",
            help="Show the value of the next partition, where there are several."),
    Command("value_left", ("less_than_sign", "shift+left"), "columns before", VALUE, idle, on="value",
            help="Show the columns before; left does too."),
    Command("value_right", ("greater_than_sign", "shift+right"), "columns after", VALUE, idle, on="value",
            help="Show the columns after; right does too."),
    Command("value_change", ("e",), "change", VALUE, idle, "change", on="value",
            help="Put another value in its place and go on from there."),
    Command("value_save", ("s",), "save", VALUE, idle, "save", on="value",
            help="Write the array as a .npy file."),
    Command("value_help", ("question_mark", "f1"), "help", VALUE, always, "help", on="value",
            help="Show these keys."),
    Command("value_close", ("q", "escape", "backspace", "v", "ctrl+c"), "close", VALUE, always, "close", on="value",
            help="Go back to the code."),
)  # fmt: skip
