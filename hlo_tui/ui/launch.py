"""Starts the screen and puts the terminal back, whatever ends it."""

from __future__ import annotations

import contextlib
import gc
import locale
import os
import signal
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hlo_tui.errors import HloTuiError

if TYPE_CHECKING:
    from hlo_tui.job.terminal import Job
    from hlo_tui.ui.app import HloTuiApp

_HEADLESS = "Without a terminal: hlo-tui list DIR, hlo-tui show FILE, hlo-tui replay FILE."
_LIMIT = 1 << 20
# What Textual may have switched on: paste and focus reports, mouse reports, sizes in band, the other screen.
_RESTORE = (
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1016l\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1000l\x1b[<u\x1b[?1049l"
    "\x1b[?25h\x1b[?1004l\x1b[0m"
)


def run(
    path: Path,
    *,
    theme: str | None = None,
    poll: bool = False,
    mouse: bool = True,
    inputs: str = "auto",
    seed: int = 0,
    grain: str = "unit",
    platform: str = "cpu",
    allow_memory: bool = False,
    job: Job | None = None,
) -> int:
    """Show a dump until the person leaves.

    Args:
        path: a directory, which need not be there yet, or a file.
        theme: a name or a file; by the terminal's colours where it is None.
        poll: look around instead of listening to events.
        mouse: whether the mouse is used.
        inputs, seed, grain, platform, allow_memory: how modules are replayed; see `replay.session.Options`.
        job: a program that dumps there and was started for this screen, which shows its output and never ends it.

    Returns:
        The exit code.

    Raises:
        HloTuiError: this is no terminal that a screen can be drawn on, the theme is not right, or the screen
            ended by a fault.
    """
    check_terminal()
    _environment()
    # What is imported stays: looking through it again and again for garbage would delay the first paint.
    gc.disable()
    from hlo_tui.ui.watching import Watch

    watch = Watch(path, poll)
    watch.start()
    from hlo_tui.theme.theme import load

    chosen = load(theme or default_theme())
    from hlo_tui.ui.replays import ReplayOptions

    replay = ReplayOptions(inputs, seed, grain, platform, allow_memory)
    with _quiet_stderr() as screen:
        from hlo_tui.ui.app import HloTuiApp

        app = HloTuiApp(
            path,
            chosen,
            watch=watch,
            replay=replay,
            ascii_only=not _is_unicode(screen),
            job=job,
        )
        _run(app, mouse)
    if app.return_code:
        where = f"The details are at the end of {log_directory() / 'screen.log'}."
        raise HloTuiError("The screen ended by a fault of its own", where, "Please report it.")
    return 0


def _run(app: HloTuiApp, mouse: bool) -> None:
    gc.freeze()
    gc.enable()
    with _signals(app):
        app.run(mouse=mouse)


def check_terminal() -> None:
    """Look whether a screen can be drawn here.

    Raises:
        HloTuiError: it cannot, and why.
    """
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise HloTuiError("This is no terminal", "standard input and output have to be one", _HEADLESS)
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        words = f"TERM is {term!r}: nothing is known of it" if term else "TERM is not set"
        raise HloTuiError("The terminal cannot show a screen", words, _HEADLESS)


def default_theme() -> str:
    """The theme for this terminal: its own sixteen colours where it has no more, or none are wanted."""
    return "dark" if _many_colours() and "NO_COLOR" not in os.environ else "ansi16"


def _many_colours() -> bool:
    if os.environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return True
    return os.environ.get("TERM", "").endswith(("-256color", "-kitty", "-direct"))


def _environment() -> None:
    """What Textual reads when it is imported."""
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    os.environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")


def log_directory() -> Path:
    """Where what would have gone to standard error is kept."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return Path(base if os.path.isabs(base) else Path.home() / ".local" / "state") / "hlo-tui"


def _open_log() -> int:
    directory = log_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "screen.log"
        big = path.exists() and path.stat().st_size > _LIMIT
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if big else os.O_APPEND)
        return os.open(path, flags, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[TextIO]:
    """Keep standard error off the screen: it goes to a log; Textual draws on a descriptor of its own."""
    kept = os.dup(1)
    encoding = locale.getencoding()
    screen = os.fdopen(kept, "w", encoding=encoding, errors="replace", newline="")
    log = _open_log()
    before = os.dup(2)
    old = sys.__stderr__
    sys.stderr.flush()
    os.dup2(log, 2)
    os.close(log)
    sys.__stderr__ = screen  # type: ignore[misc]
    try:
        yield screen
    finally:
        sys.__stderr__ = old  # type: ignore[misc]
        os.dup2(before, 2)
        os.close(before)
        with contextlib.suppress(OSError):
            screen.close()


def _is_unicode(screen: TextIO) -> bool:
    return (screen.encoding or "").lower().replace("-", "") == "utf8" and os.environ.get("TERM") != "linux"


@contextlib.contextmanager
def _signals(app: HloTuiApp) -> Iterator[None]:
    """End in good order on SIGTERM and SIGHUP and when the terminal is gone."""
    try:
        attributes: list[Any] | None = termios.tcgetattr(0)
    except termios.error:
        attributes = None
    ended = threading.Event()

    def end(number: int, _frame: object) -> None:
        ended.set()
        app.desk.replays.end()
        _restore(attributes)
        os._exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    threading.Thread(target=_watch_terminal, args=(ended,), name="hlo-tui-terminal", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _restore(attributes: list[Any] | None) -> None:
    """Put the terminal back as it was, as far as there is one."""
    with contextlib.suppress(OSError):
        os.set_blocking(1, False)
        os.write(1, _RESTORE.encode())
        os.set_blocking(1, True)
    if attributes is not None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, attributes)


def _watch_terminal(ended: threading.Event) -> None:
    """End where the terminal has gone away without a signal."""
    while not ended.wait(1.0):
        try:
            termios.tcgetattr(0)
        except termios.error:
            os.kill(os.getpid(), signal.SIGHUP)
            return
