"""What the commands do that are about what the compiler did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.handlers import answers, does

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


@does("timeline")
def _timeline(app: BaseApp) -> None:
    from hlo_tui.ui.passes.subject import subject
    from hlo_tui.ui.passes.timeline import TimelineScreen

    app.push_screen(TimelineScreen(app, subject(app)))


@does("changes")
def _changes(app: BaseApp) -> None:
    from hlo_tui.passes.stages import readable_stages
    from hlo_tui.ui.passes.diff import diff_stages
    from hlo_tui.ui.passes.subject import open_label, subject

    about = subject(app, least=2)
    labels = [stage.label for stage in readable_stages(about.module)]
    at = labels.index(open_label(app)) if open_label(app) in labels else 0
    app.push_screen(diff_stages(app, about, labels[max(0, at - 1)], labels[max(1, at)]))


@does("life")
def _life(app: BaseApp) -> None:
    from hlo_tui.ui.passes.life import LifeScreen
    from hlo_tui.ui.passes.subject import At, instruction_here, open_label, subject

    about = subject(app)
    computation, name = instruction_here(app)
    app.push_screen(LifeScreen(app, about, At(open_label(app), computation, name)))


@does("survival")
def _survival(app: BaseApp) -> None:
    from hlo_tui.ui.passes.subject import subject
    from hlo_tui.ui.passes.tags import TagsScreen

    app.push_screen(TagsScreen(app, subject(app)))


@does("bisect")
def _bisect(app: BaseApp) -> None:
    from hlo_tui.ui.passes.bisect import BisectScreen
    from hlo_tui.ui.passes.subject import subject

    app.push_screen(BisectScreen(app, subject(app)))


@does("recompiles")
def _recompiles(app: BaseApp) -> None:
    from hlo_tui.ui.passes.costs import RecompilesScreen

    app.push_screen(RecompilesScreen(app))


@does("costs")
def _costs(app: BaseApp) -> None:
    from hlo_tui.ui.passes.costs import CostsScreen

    app.push_screen(CostsScreen(app))


@does("other")
def _other(app: BaseApp) -> None:
    app.ask("other", "another dump, or a file to compare what is open with")


@answers("other")
def _other_answered(app: BaseApp, text: str) -> None:
    from hlo_tui.ui.passes.diff import DiffScreen, side_of, side_of_file
    from hlo_tui.ui.passes.dumps import DumpsScreen
    from hlo_tui.ui.passes.subject import open_label, subject

    path = Path(text.strip()).expanduser()
    if not text.strip():
        return
    if path.is_dir():
        app.push_screen(DumpsScreen(app, path))
    elif path.is_file():
        want = app.desk.wanted
        about = subject(app) if want is not None and want.place.label else None
        if about is not None:
            here = side_of(app, about, open_label(app))
        else:
            opened = app.desk.opened
            if opened is None:
                raise HloTuiError("Nothing is open")
            here = side_of_file(opened.want.path)
        app.push_screen(DiffScreen(app, here, side_of_file(path)))
    else:
        raise HloTuiError("No such file or directory", str(path))
