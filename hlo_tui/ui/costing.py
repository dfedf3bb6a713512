"""What the commands do that are about what a module costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tui.ui.handlers import does

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


@does("memory")
def _memory(app: BaseApp) -> None:
    from hlo_tui.ui.memoryscreen import MemoryScreen

    app.push_screen(MemoryScreen(app))


@does("operations")
def _operations(app: BaseApp) -> None:
    from hlo_tui.ui.operationscreen import OperationScreen

    app.push_screen(OperationScreen(app))
