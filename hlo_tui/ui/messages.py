"""What the threads tell the screen. Each carries plain values; floods of them collapse into the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from hlo_tui.dump.files import Stamp
    from hlo_tui.errors import HloTuiError
    from hlo_tui.passes.ladder import Rung
    from hlo_tui.replay.session import State
    from hlo_tui.theme.theme import Theme
    from hlo_tui.ui.counting import Matches
    from hlo_tui.ui.inspection import Inspection
    from hlo_tui.ui.marks import Marks
    from hlo_tui.ui.opened import Opened, Want
    from hlo_tui.ui.watching import News


class ShelfChanged(Message):
    """The dump is another than before."""

    def __init__(self, news: News) -> None:
        super().__init__()
        self.news = news

    def can_replace(self, message: Message) -> bool:
        """The newest shelf is all that counts, unless something was said with an older one."""
        return isinstance(message, ShelfChanged) and not self.news.notices


class ReplayChanged(Message):
    """The replay is in another state."""

    def __init__(self, session: object, state: State) -> None:
        super().__init__()
        self.session = session
        self.state = state

    def can_replace(self, message: Message) -> bool:
        """Only the newest state of a session counts."""
        return isinstance(message, ReplayChanged) and message.session is self.session


class Climbed(Message):
    """The rungs of what is on a line, the program first; `way` is where to go from it, 0 to list them."""

    def __init__(self, number: int, line: int, rungs: tuple[Rung, ...], way: int) -> None:
        super().__init__()
        self.number = number
        self.line = line
        self.rungs = rungs
        self.way = way


class Seen(Message):
    """What is to be seen of a value: the answer to a look of the kind `what`."""

    def __init__(self, what: str, result: dict[str, Any]) -> None:
        super().__init__()
        self.what = what
        self.result = result


class Counted(Message):
    """It is known which lines match what was searched for."""

    def __init__(self, matches: Matches) -> None:
        super().__init__()
        self.matches = matches


class Said(Message):
    """A thread has something to say to the person."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words


class ThemeChanged(Message):
    """The theme's files say something else now."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme


class Problem(Message):
    """Something went wrong on a thread."""

    def __init__(self, error: HloTuiError) -> None:
        super().__init__()
        self.error = error


class Head(Message):
    """A file is open: its beginning can be shown."""

    def __init__(self, opened: Opened) -> None:
        super().__init__()
        self.opened = opened


class Progress(Message):
    """A task goes on: `done` of `total` bytes."""

    def __init__(self, words: str, done: int, total: int) -> None:
        super().__init__()
        self.words = words
        self.done = done
        self.total = total

    def can_replace(self, message: Message) -> bool:
        """The newest is enough."""
        return isinstance(message, Progress)


class Scanned(Message):
    """All of a file is known. `line` is where the cursor is to go; `words` how that was found."""

    def __init__(self, opened: Opened, line: int, words: str = "") -> None:
        super().__init__()
        self.opened = opened
        self.line = line
        self.words = words


class OpenFailed(Message):
    """A file could not be opened; `stamp` tells its state from others, None where it is not there."""

    def __init__(self, want: Want, error: HloTuiError, stamp: Stamp | None) -> None:
        super().__init__()
        self.want = want
        self.error = error
        self.stamp = stamp


class Inspected(Message):
    """What is known of a line (from 0) of the file with this number."""

    def __init__(self, number: int, line: int, inspection: Inspection) -> None:
        super().__init__()
        self.number = number
        self.line = line
        self.inspection = inspection


class Located(Message):
    """Where a name is; `line` is None where it is not in the text."""

    def __init__(self, number: int, name: str, line: int | None) -> None:
        super().__init__()
        self.number = number
        self.name = name
        self.line = line


class Searched(Message):
    """A search came to its end: `line` is None where nothing was found; `wrapped` where it began anew."""

    def __init__(self, number: int, line: int | None, wrapped: bool, stopped: bool) -> None:
        super().__init__()
        self.number = number
        self.line = line
        self.wrapped = wrapped
        self.stopped = stopped


class Marked(Message):
    """The gutter's signs for the file with this number."""

    def __init__(self, number: int, marks: Marks, follow: bool) -> None:
        super().__init__()
        self.number = number
        self.marks = marks
        self.follow = follow
