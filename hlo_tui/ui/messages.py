"""What the threads tell the screen. Each carries plain values; floods of them collapse into the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from hlo_tui.errors import HloTuiError
    from hlo_tui.replay.session import State
    from hlo_tui.ui.shelf import Shelf


class ShelfChanged(Message):
    """The dump is another than before."""

    def __init__(self, shelf: Shelf, notices: tuple[str, ...], mode: str) -> None:
        super().__init__()
        self.shelf = shelf
        self.notices = notices
        self.mode = mode

    def can_replace(self, message: Message) -> bool:
        """The newest shelf is all that counts, unless something was said with an older one."""
        return isinstance(message, ShelfChanged) and not self.notices


class ReplayChanged(Message):
    """The replay is in another state."""

    def __init__(self, session: object, state: State) -> None:
        super().__init__()
        self.session = session
        self.state = state

    def can_replace(self, message: Message) -> bool:
        """Only the newest state of a session counts."""
        return isinstance(message, ReplayChanged) and message.session is self.session


class Problem(Message):
    """Something went wrong on a thread."""

    def __init__(self, error: HloTuiError) -> None:
        super().__init__()
        self.error = error
