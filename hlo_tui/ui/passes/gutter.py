"""Which lines of an open stage are others than at the stage before, for the gutter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tui.errors import HloTuiError
from hlo_tui.passes.stages import open_stage, readable_stages
from hlo_tui.ui.passes.subject import Subject, open_label, subject

if TYPE_CHECKING:
    from hlo_tui.passes.blocks import Text
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

KIND = "gutter"
# Bytes of both stages together: more would take seconds, and nobody asked for it.
_MOST = 4 << 20


def look(app: BaseApp) -> None:
    """Begin to find out, for the stage that is open; what is too large is left alone."""
    try:
        about = subject(app, least=2)
    except HloTuiError:
        return
    opened = app.desk.opened
    labels = [stage.label for stage in readable_stages(about.module)]
    label = open_label(app)
    if opened is None or label not in labels[1:]:
        return
    before = labels[labels.index(label) - 1]
    stages = [stage for stage in about.module.stages if stage.label in (before, label)]
    if sum(stage.main.size for stage in stages) <= _MOST:
        app.tasks.start(KIND, opened.number, lambda task: _find(task, about, before, label))


def show(app: BaseApp, task: Task) -> None:
    """Take in what was found, where that stage is still open."""
    opened = app.desk.opened
    if task.done and task.found and opened is not None and opened.number == task.key:
        app.main.code.set_changes(task.found[0])


def _find(task: Task, about: Subject, before: str, label: str) -> None:
    # Not before it is needed, and not on the screen's thread: it takes a while to import.
    from hlo_tui.passes.blocks import Reader, Text

    reader = Reader()
    texts = []
    for wanted in (before, label):
        task.check()
        stage = about.module.stage(wanted)
        if stage is None:
            return
        texts.append(Text(open_stage(about.listing, stage), reader))
    task.check()
    task.add(changed_lines(*texts))


def changed_lines(before: Text, now: Text) -> dict[int, str]:
    """The lines of `now` (from 0) with instructions that are new ("+") or changed ("~")."""
    from hlo_tui.passes.compare import Comparison

    diff = Comparison(before, now).run()
    signs = [(change.b, "~") for change in diff.modified] + [(place, "+") for place in diff.added]
    found = {}
    for place, sign in signs:
        block = now.blocks.get(place.computation)
        at = block.index.get(place.name) if block is not None else None
        if block is not None and at is not None:
            found[block.line_of(at)] = sign
    return found
