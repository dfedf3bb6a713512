"""A job that was started with the screen: the last lines of its output in a pane, all of them on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.strip import Strip
from textual.widget import Widget

from hlo_tui.hlo.visible import visible
from hlo_tui.ui.bars import Bar, rule
from hlo_tui.ui.glyphs import DOT
from hlo_tui.ui.handlers import does
from hlo_tui.ui.paint import Paint
from hlo_tui.ui.panel import Panel, keys_of
from hlo_tui.ui.rows import Row, Span, width_of

if TYPE_CHECKING:
    from hlo_tui.job.terminal import Job
    from hlo_tui.ui.base import BaseApp

# Lines of output in the pane, on a screen of less than so many rows and of more.
_FEW, _MANY, _TALL = 4, 8, 40


def state_words(job: Job, now: float) -> str:
    """What the job is and how it does."""
    command = visible(" ".join(job.command))
    if job.code is None:
        state = f"runs for {_span(now - job.started)}"
    elif job.code == 0:
        state = "is done"
    else:
        state = f"ended with exit code {job.code}"
    return f"Job {state} {DOT} {command[:200]}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _Lines(Widget):
    """The last lines of the output, as many as there is room for."""

    DEFAULT_CSS = "_Lines { height: 1fr; width: 1fr; }"

    def __init__(self, paint: Paint, job: Job) -> None:
        super().__init__()
        self._paint = paint
        self._job = job
        self._last: list[str] = []

    def look(self, paint: Paint) -> None:
        """Paint what is new."""
        last = self._job.tail(self.size.height)
        if last != self._last or paint is not self._paint:
            self._last, self._paint = last, paint
            self.refresh()

    def on_resize(self) -> None:
        """There is room for other lines."""
        self.look(self._paint)

    def render_line(self, y: int) -> Strip:
        """One line."""
        text = visible(self._last[y]) if y < len(self._last) else ""
        return self._paint.row(Row((Span(f" {text}", "text"),)), self.size.width)


class JobPane(Vertical):
    """A title and the last lines, below the panes of the main screen."""

    DEFAULT_CSS = """
    JobPane { height: 5; }
    JobPane.-many { height: 9; }
    JobPane.-short { height: 1; }
    """

    def __init__(self, paint: Paint, job: Job) -> None:
        super().__init__(id="job-pane")
        self._job = job
        self._title = Bar(paint)
        self._lines = _Lines(paint, job)

    def compose(self) -> ComposeResult:
        """The title, then the lines."""
        yield self._title
        yield self._lines

    def on_resize(self) -> None:
        """The screen may have more room now."""
        self.set_class(self.app.size.height >= _TALL, "-many")

    def look(self, paint: Paint, now: float) -> None:
        """Show what is new; a job that went well leaves its title only."""
        if self._job.code == 0 and not self.has_class("-kept"):
            self.add_class("-short")
        role = "problem" if self._job.code else "title_away"
        hides = "shows" if self.has_class("-short") else "hides"
        keys = (
            Span("5", "key"),
            Span(" all  ", "key_text"),
            Span("J", "key"),
            Span(f" {hides} ", "key_text"),
        )
        words, across = rule(state_words(self._job, now), False, self.size.width - width_of(keys) - 1).spans
        self._title.show(Row((Span(words.text, role), across), keys))
        self._lines.look(paint)

    def switch(self) -> None:
        """Hide the lines, or show them again; a person's choice stays."""
        self.add_class("-kept")
        self.toggle_class("-short")


class JobScreen(Panel):
    """All lines of the output that are kept, the newest at the foot."""

    PANEL = "job"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("job")

    def __init__(self, app: BaseApp, job: Job) -> None:
        super().__init__(app, state_words(job, app.now()))
        self._job = job

    def begin(self) -> None:
        """Go to the newest line, once there is a size."""
        self.call_after_refresh(self.rows.scroll_end, animate=False)

    def build(self, width: int) -> Sequence[Row]:
        """The lines, long ones in several rows."""
        rows = []
        for line in self._job.lines:
            text = visible(line)
            pieces = [text[at : at + width - 2] for at in range(0, len(text), max(1, width - 2))] or [""]
            rows += [Row((Span(f" {piece}", "text"),)) for piece in pieces]
        if rows and not rows[-1].spans[0].text.strip():
            rows.pop()
        return rows or [Row((Span(" it has written nothing yet", "muted"),))]

    def look(self) -> None:
        """Show what is new; who has gone up to older lines stays there."""
        at_end = self.rows.scroll_offset.y >= self.rows.max_scroll_y - 1
        self.heading = state_words(self._job, self.owner.now())
        self.show()
        if at_end:
            self.rows.scroll_end(animate=False)

    def do(self, identity: str) -> None:
        """Speak to the job."""
        if identity == "job_type":
            self.ask("job_type", "a line for the job; enter sends it", "")
        elif identity == "job_interrupt":
            self._job.interrupt()
            self.notice = "ctrl+c was sent to the job"
        elif identity == "job_end":
            self.notice = f"the job was {self._job.end()}; a second time ends it by force"

    def answered(self, purpose: str, text: str) -> None:
        """Send what was typed."""
        if purpose == "job_type":
            self._job.send(text)


def attach(app: BaseApp) -> None:
    """Show the job's pane and keep it up to date."""
    job = app.desk.job
    if job is None:
        return

    def show() -> None:
        app.main.mount(JobPane(app.paint, job), before=app.main.brief)
        job.listen(heard)
        app.set_interval(1.0, lambda: look(app))

    def heard() -> None:
        # From the job's thread to the screen's.
        app.call_later(look, app)

    # The panes are there only then.
    app.call_after_refresh(show)


def look(app: BaseApp) -> None:
    """Show what is new of the job."""
    for pane in app.main.query(JobPane):
        pane.look(app.paint, app.now())
    for screen in app.screen_stack:
        if isinstance(screen, JobScreen):
            screen.look()
    job = app.desk.job
    if job is not None and job.code is not None and not job.reported:
        job.reported = True
        if job.code:
            app.say(f"the job ended with exit code {job.code}: 5 shows its output")
        # What is said of an empty dump is something else now.
        app.shown.everything(app.situation())


@does("pane_job")
def _pane_job(app: BaseApp) -> None:
    if app.desk.job is not None:
        app.push_screen(JobScreen(app, app.desk.job))


@does("job_pane")
def _job_pane(app: BaseApp) -> None:
    for pane in app.main.query(JobPane):
        pane.switch()
        pane.look(app.paint, app.now())
