"""The commands about a job that was started with the screen."""

from __future__ import annotations

from hlo_tui.ui.command import Command, Situation, always

_GROUP, _SCREEN = "The job", "The job's output"


def has_job(now: Situation) -> str | None:
    """There has to be a job of the screen's own."""
    return None if now.job != "none" else "no job was started with this screen: hlo-tui run -- COMMAND does"


def runs(now: Situation) -> str | None:
    """The job has to run."""
    return has_job(now) or (None if now.job == "running" else "the job has ended")


JOB = (
    Command("pane_job", ("5",), "the job's output", _GROUP, has_job, "job",
            help="Show all of the job's output; type a line for it, interrupt it or end it."),
    Command("job_pane", ("J",), "pane of the job", _GROUP, has_job,
            help="Hide the last lines of the job's output, or show them again."),
    Command("job_type", ("i", "enter"), "type a line", _SCREEN, runs, "type", on="job",
            help="Type a line for the job, as in its terminal: for a debugger, or a question that it asks."),
    Command("job_interrupt", ("ctrl+c",), "ctrl+c", _SCREEN, runs, "interrupts it", on="job",
            help="Interrupt the job, as ctrl+c in its terminal does."),
    Command("job_end", ("E",), "end the job", _SCREEN, runs, "end it", on="job",
            help="Ask the job to end (SIGTERM); a second time ends it by force."),
    Command("job_help", ("question_mark", "f1"), "help", _SCREEN, always, "help", on="job",
            help="Show these keys."),
    Command("job_close", ("q", "escape", "backspace", "5"), "close", _SCREEN, always, "close", on="job",
            help="Go back to the dump; the job runs on."),
)  # fmt: skip
