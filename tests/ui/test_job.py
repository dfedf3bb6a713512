"""A job that was started with the screen: its pane, its screen, and what is said of its end."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hlo_tui.job.terminal import Job
from tests.ui.driving import driving

_TALK = """
import time
print("step", 1)
print("name?", flush=True)
print("hello", input(), flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    time.sleep(60)
"""


def start(code: str) -> Job:
    return Job([sys.executable, "-u", "-c", code], os.environ)


@pytest.fixture
def talking():
    job = start(_TALK)
    yield job
    job.end()
    job.end()
    job.wait(20)


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (200, 60)])
async def test_the_last_lines_are_below_the_dump(dump: Path, talking: Job, size: tuple[int, int]) -> None:
    async with driving(dump, size, job=talking) as screen:
        await screen.sees("jit_train_step", "Job", "runs for 0:0", "step 1", "name?", "5 all")
        await screen.press("J")
        await screen.misses("step 1")
        await screen.press("J")
        await screen.sees("step 1")


async def test_all_lines_and_speaking_to_it(dump: Path, talking: Job) -> None:
    async with driving(dump, (80, 24), job=talking) as screen:
        await screen.sees("name?")
        await screen.press("5")
        await screen.sees("i type", "E end it")
        await screen.misses("jit_train_step")
        await screen.press("i")
        await screen.type("you")
        await screen.press("enter")
        await screen.sees("hello you")
        await screen.press("ctrl+c")
        await screen.sees("interrupted", "ctrl+c was sent to the job")
        await screen.press("E")
        await screen.sees("the job was asked to end")
        await screen.until(lambda: talking.code is not None, "it has ended")
        await screen.press("E")
        await screen.sees("the job has ended")
        await screen.press("q")
        await screen.sees("jit_train_step", "ended with exit code 143")
        assert screen.app.is_running


async def test_a_failure_is_said_where_it_is_seen(dump: Path) -> None:
    async with driving(dump, (120, 34), job=start("print('no such file'); raise SystemExit(3)")) as screen:
        await screen.sees("the job ended with exit code 3: 5 shows its output", "no such file")


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
async def test_a_failure_comes_first_where_there_is_no_module(tmp_path: Path, size: tuple[int, int]) -> None:
    async with driving(tmp_path, size, job=start("raise SystemExit(3)")) as screen:
        await screen.sees("The job ended with exit code 3 before a module was", "5 shows its")


async def test_a_job_that_went_well_takes_one_line(dump: Path) -> None:
    job = start("print('all is', 'well')")
    job.wait(20)
    async with driving(dump, (120, 34), job=job) as screen:
        await screen.sees("is done", "J shows")
        await screen.misses("all is well")
        await screen.press("J")
        await screen.sees("all is well")


async def test_leaving_leaves_the_job_alone(dump: Path, talking: Job) -> None:
    async with driving(dump, (80, 24), job=talking) as screen:
        await screen.sees("name?")
        await screen.press("q")
    assert talking.code is None


async def test_an_empty_dump_waits_for_the_job_and_then_says_why(tmp_path: Path, talking: Job) -> None:
    async with driving(tmp_path / "nothing", (80, 24), job=talking) as screen:
        await screen.sees("XLA makes it", "The job that was started with this screen dumps here", "name?")
        await screen.misses("nothing comes")
        talking.end()
        await screen.sees("A job dumps here when it starts with")


async def test_without_a_job_it_is_said_how_to_start_one(dump: Path) -> None:
    async with driving(dump, (120, 34)) as screen:
        await screen.sees("jit_train_step")
        await screen.press("5")
        await screen.sees("no job was started with this screen: hlo-tui run -- COMMAND does")


async def test_control_characters_of_a_job_do_not_reach_the_terminal(dump: Path) -> None:
    job = start("print('\\x1b[2J\\x1b]0;title\\x07\\x9bX red\\u202e')")
    async with driving(dump, (120, 34), job=job) as screen:
        await screen.sees("is done")
        await screen.press("5")
        await screen.sees("red")
        assert not any(sign in screen.text for sign in "\x1b\x07\x9b\u202e")
