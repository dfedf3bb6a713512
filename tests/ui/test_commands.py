"""The registry: one place for keys, words and reasons."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hlo_tui.ui.commands import BY_ID, COMMANDS, Situation, key_table, shown_key
from hlo_tui.ui.handlers import ANSWERS, HANDLERS, handler
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.popups import help_rows
from hlo_tui.ui.screen import MainScreen

READY = Situation(
    pane="code", opened=True, scanned=True, hlo=True, instruction=True, name=True, replay="standing",
    at="stop", runs=True, crashed=True, partitions=True, pattern=True, back=True, forward=True, earlier=True,
    later=True, changed=True, task=True, job="running",
)  # fmt: skip


def test_every_command_is_carried_out_by_something():
    handler("help")
    assert {command.id for command in COMMANDS if command.on == "main"} == set(HANDLERS)
    assert set(ANSWERS) <= {*BY_ID, "filter"}


def test_no_key_means_two_things():
    keys = Counter((command.on, key) for command in COMMANDS for key in command.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_nothing_hangs_on_keys_that_terminals_keep_for_themselves():
    for command in COMMANDS:
        assert "ctrl+z" not in command.keys
        assert command.keys != ("escape",)


def test_the_debuggers_keys_are_those_that_people_know():
    keys = {command.id: [shown_key(key) for key in command.keys] for command in COMMANDS}
    assert keys["continue"] == ["c", "F5"]
    assert keys["break"] == ["b", "F9"]
    assert keys["next"] == ["n", "F10"]
    assert keys["step"] == ["s", "F11"]
    assert (keys["finish"], keys["to"], keys["up"], keys["down"]) == (["f"], ["t"], ["u"], ["d"])
    assert [keys[f"{name}_back"] for name in ("continue", "next", "step", "finish", "to")] == [
        ["C"], ["N"], ["S"], ["F"], ["T"],
    ]  # fmt: skip
    assert (keys["stage_previous"], keys["stage_next"]) == (["["], ["]"])
    assert (keys["match_previous"], keys["match_next"], keys["search"]) == ([","], ["."], ["/"])


def test_every_command_can_run_at_some_time_and_says_why_not_at_others():
    for command in COMMANDS:
        assert command.check(READY) is None, command.id
        for now in (Situation(), Situation(opened=True, scanned=True), Situation(replay="busy")):
            reason = command.check(now)
            assert reason is None or reason.strip(), command.id


@pytest.mark.parametrize(
    ("command", "now", "reason"),
    [
        ("continue", Situation(), "open a module first"),
        ("continue", Situation(opened=True), "the file is still being read"),
        ("continue", Situation(opened=True, scanned=True), "this file is no HLO"),
        (
            "next",
            Situation(opened=True, scanned=True, hlo=True, replay="busy"),
            "the replay is at work: ctrl+c stops it",
        ),
        ("next", Situation(replay="standing", at="end"), "the replay is at its end"),
        ("continue_back", Situation(replay="none"), "nothing is being replayed: c begins"),
        ("continue_back", Situation(replay="standing", at="begin"), "the replay is at its beginning"),
        ("finish", Situation(replay="standing", at="end"), "the replay is in no computation"),
        ("stage_next", Situation(), "there is no stage after this one"),
        ("break", Situation(opened=True, scanned=True, hlo=True), "the cursor is on no instruction"),
        ("reload", Situation(), "the file on disk is the one that is shown"),
    ],
)
def test_reasons(command, now, reason):
    assert BY_ID[command].check(now) == reason


def test_all_keys_are_bound_on_the_main_screen():
    bound = {key for binding in MainScreen.BINDINGS for key in binding.key.split(",")}
    main = [command for command in COMMANDS if command.on == "main" and command.id != "palette"]
    assert {key for command in main for key in command.keys} == bound
    for panel in {command.on for command in COMMANDS} - {"main"}:
        bound = {key for binding in keys_of(panel) for key in binding.key.split(",")}
        assert {key for command in COMMANDS if command.on == panel for key in command.keys} == bound
        assert {f"{panel}_help", f"{panel}_close"} <= set(BY_ID)


def test_help_shows_what_can_run_and_the_reason_of_what_cannot():
    rows = help_rows(Situation(opened=True, scanned=True, hlo=True), 120)
    text = ["".join(span.text for span in row.spans) for row in rows]
    off = next(at for at, line in enumerate(text) if "Not now" in line)
    on, not_now = "\n".join(text[:off]), "\n".join(text[off:])
    assert "Run to the next stop" in on
    assert "back to the stop before" not in on
    assert "nothing is being replayed: c begins" in not_now
    chosen = {row.key for row in rows if row.key is not None}
    assert "continue" in chosen
    assert "continue_back" not in chosen


def test_the_readme_has_the_table_of_keys():
    readme = Path(__file__).parents[2] / "README.md"
    assert key_table() in readme.read_text("utf-8"), "scripts/keys writes it"
