"""What the commands do that find in all modules, draw, cut out, and put together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlo_tui.dump.listing import ORDERS
from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.handlers import answers, does

if TYPE_CHECKING:
    from hlo_tui.cutting.extract import Part
    from hlo_tui.hlo.module import Module
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.opened import Opened
    from hlo_tui.ui.tasks import Task

_COPIED = 1 << 20


@does("find_all")
def _find_all(app: BaseApp) -> None:
    from hlo_tui.finding.query import WORDS
    from hlo_tui.ui.findscreen import KIND, FindScreen

    known = app.tasks.get(KIND)
    if known is not None and isinstance(known.key, tuple) and not known.stopping:
        app.push_screen(FindScreen(app, str(known.key[0])))
        return
    app.ask("find_all", f"a regular expression; filters: {WORDS}")


@answers("find_all")
def _find_all_answered(app: BaseApp, text: str) -> None:
    from hlo_tui.finding.query import parse_words
    from hlo_tui.ui.findscreen import FindScreen

    if text.strip():
        parse_words(text.strip())
        app.push_screen(FindScreen(app, text.strip()))


@does("order")
def _order(app: BaseApp) -> None:
    names = [*ORDERS]
    after = names[(names.index(app.desk.tree.order) + 1) % len(names)]
    app.desk.tree = replace(app.desk.tree, order=after)
    app.shown.tree()
    app.say(f"modules: {ORDERS[after]}")


@does("graph")
def _graph(app: BaseApp) -> None:
    from hlo_tui.ui.graphscreen import GraphScreen
    from hlo_tui.ui.passes.subject import instruction_here

    app.push_screen(GraphScreen(app, _opened(app).module, _opened(app).want, instruction_here(app)))


@does("picture")
def _picture(app: BaseApp) -> None:
    app.ask("picture", "where to: a file that ends in .dot, .svg or .html")


@answers("picture")
def _picture_answered(app: BaseApp, text: str) -> None:
    from hlo_tui.graph.pictures import picture
    from hlo_tui.graph.wiring import Wiring, whole
    from hlo_tui.ui.graphscreen import outside

    path = Path(text.strip()).expanduser()
    module, line = _opened(app).module, app.main.code.line
    outline = module.outline
    around = (outline.at_line(line) or outline.entry) if outline is not None else None
    if not text.strip() or around is None:
        return
    outside(app, path)

    def job(task: Task) -> None:
        task.say("drawing")
        wiring = Wiring(module)
        graph = whole(wiring, around.name)
        _write(path, picture(graph, wiring, f"{module.name}: {around.name}", path.suffix.lower()[1:]))
        task.words = f"written: {path}"

    _begin(app, job)


@does("extract")
def _extract(app: BaseApp) -> None:
    from hlo_tui.ui.passes.subject import instruction_here

    name = instruction_here(app)[1]
    app.ask(
        "extract", "FILE DEPTH; depth: 0 this instruction alone, 1 its operands too, ... or all",
        f"{name}.hlo 0", select=False,
    )  # fmt: skip
    app.say("FILE DEPTH: 0 is this instruction alone, 1 with its operands, ... or all")


@answers("extract")
def _extract_answered(app: BaseApp, text: str) -> None:
    from hlo_tui.ui.graphscreen import outside
    from hlo_tui.ui.passes.subject import instruction_here

    name, _, depth = text.strip().rpartition(" ")
    if not depth.isdigit() and depth != "all":
        name, depth = text.strip(), "0"
    path = Path(name).expanduser()
    if not name:
        return
    outside(app, path)
    computation, instruction = instruction_here(app)
    module = _opened(app).module

    def job(task: Task) -> None:
        task.say("cutting out")
        part = _part(module, computation, instruction, depth)
        _write(path, part.text)
        instructions = count_text(part.instructions, "instruction")
        task.words = f"{instructions}, {count_text(len(part.parameters), 'parameter')} in {path}"
        app.call_from_thread(_with_values, app, part, path, task.words)

    _begin(app, job)


def _with_values(app: BaseApp, part: Part, path: Path, what: str) -> None:
    """Write what comes into a part beside it, where the replay stands in its module."""
    state, replays = app.desk.replays.state, app.desk.replays
    if state is None or state.status != "standing" or not replays.is_of(app.desk.opened):
        return
    params = {
        "what": "parts",
        "path": str(path.absolute().with_suffix(".npz")),
        "parts": [[one.name, one.computation, one.instruction, list(one.element)] for one in part.parameters],
        "result": [part.computation, part.instruction],
    }

    def told(result: dict[str, Any]) -> None:
        app.call_from_thread(app.say, f"{what}; the values that come in here are in {result['path']}")

    app.attempt(lambda: replays.running.inspect(params, told))


@does("extract_copy")
def _extract_copy(app: BaseApp) -> None:
    from hlo_tui.ui.passes.subject import instruction_here

    part = _part(_opened(app).module, *instruction_here(app), "0")
    if len(part.text) > _COPIED:
        message = f"{len(part.text):,} bytes; the terminal takes no more than {_COPIED:,}"
        raise HloTuiError("Too much to copy", message, "cut this instruction out writes it into a file")
    app.copy_to_clipboard(part.text.decode("utf-8", "replace"))
    app.say(f"copied: %{visible(part.instruction)} as a module with {len(part.parameters)} parameters")


@does("bundle")
def _bundle(app: BaseApp) -> None:
    from hlo_tui.ui.passes.subject import subject

    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in subject(app).module.name) or "module"
    app.ask(
        "bundle",
        "where to; then any of scrub (no paths, no user names), snapshot, passes",
        f"{name}.tar.gz scrub",
        select=False,
    )


@answers("bundle")
def _bundle_answered(app: BaseApp, text: str) -> None:
    from hlo_tui.cutting import bundle
    from hlo_tui.ui.graphscreen import outside
    from hlo_tui.ui.passes.subject import subject

    words = text.split()
    options = {word for word in words[1:] if word in ("scrub", "snapshot", "passes")}
    if not words:
        return
    if len(options) < len(words) - 1:
        raise HloTuiError("Not an option", " ".join(words[1:]), "scrub, snapshot, passes")
    path, about = Path(words[0]).expanduser(), subject(app)
    outside(app, path)

    def job(task: Task) -> None:
        task.say("putting the bundle together")
        made = bundle.collect(about.listing, about.module, **dict.fromkeys(options, True))
        bundle.write(made, path, about.listing.root)
        task.found.append(made.summary)
        task.words = f"written: {path}, {path.stat().st_size:,} bytes; its summary is copied. " + ". ".join(
            made.notes
        )

    _begin(app, job)


def _opened(app: BaseApp) -> Opened:
    if app.desk.opened is None:
        raise HloTuiError("Nothing is open")
    return app.desk.opened


def _part(module: Module, computation: str, name: str, depth: str) -> Part:
    from hlo_tui.cutting.extract import ALL, extract_instruction

    found = module.find(name, computation)
    if found is None:
        raise HloTuiError("The instruction is gone", name)
    return extract_instruction(module, found, ALL if depth == "all" else int(depth[:9]))


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise HloTuiError("Not written", f"{path}: {error.strerror}") from error


def _begin(app: BaseApp, job: Any) -> None:
    """Do something on a thread that says how it ended; a text that it found is copied."""

    def run(task: Task) -> None:
        try:
            job(task)
        except HloTuiError as error:
            app.call_from_thread(app.say_error, error)
            return
        app.call_from_thread(_said, app, task.words, [str(text) for text in task.found])

    app.say("at work")
    app.tasks.start("write", object(), run, again=True)


def _said(app: BaseApp, words: str, texts: list[str]) -> None:
    for text in texts:
        app.copy_to_clipboard(text)
    app.say(visible(words))
