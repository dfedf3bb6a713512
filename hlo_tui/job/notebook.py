"""Modules, tags and values of a dump in a notebook's cell, where there is no screen."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hlo_tui.dump import choosing, doctor, listing
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module
from hlo_tui.dump.words import count_text, size_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.tags import is_user_key
from hlo_tui.job.tables import Table
from hlo_tui.passes import tags
from hlo_tui.replay.headless import Replay
from hlo_tui.replay.state import Options
from hlo_tui.replay.stopspec import TAGS, StopSpec, parse_spec
from hlo_tui.replay.summarywords import number_words

# Rows of each table; what there is more is counted.
_ROWS = 100
# More stops than a table shows are not run to.
_STOPS = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """What `show` found: a notebook draws it as tables, `print` writes them as text."""

    tables: tuple[Table, ...]

    def __repr__(self) -> str:
        """The tables as text."""
        return "\n\n".join(table.text() for table in self.tables)

    def _repr_html_(self) -> str:
        """The tables for a cell."""
        return "".join(f'<div style="margin-bottom:1em">{table.html()}</div>' for table in self.tables)


def show(
    path: str | os.PathLike[str],
    module: str | None = None,
    *,
    values: bool = True,
    stops: tuple[str, ...] = (),
    inputs: str = "auto",
) -> Shown:
    """Show a dump, or one module, without a screen.

    Args:
        path: a directory, or one file.
        module: of a directory: a module's name or `#NUMBER`, whose values are wanted; the tagged one with recorded
            inputs if there is one, else the biggest tagged one, where it is not given.
        values: run it (in a process of its own, on the CPU) and show the values at its stops.
        stops: where to stop, as `hlo-tui replay --break` takes it; at the tagged operations if not given.
        inputs: as for `hlo-tui replay`: recorded ones where there are any, else made ones.

    Returns:
        Tables of modules, tags and values.

    Raises:
        HloTuiError: there is nothing to show, or no such module. What cannot be run is said below its table.
    """
    specs = tuple(parse_spec(text) for text in stops) or (TAGS,)
    if not Path(path).is_dir():
        tables = [_file_tags(Path(path))]
        wanted: Path | None = Path(path)
        title = Path(path).name
    else:
        dump = listing.load(path)
        chosen = choosing.find_module(dump, module) if module else _best(dump, bool(stops))
        tables = [_modules(dump), _tags(dump, chosen if module else None)]
        wanted = _to_run(dump, chosen) if chosen is not None else None
        title = chosen.name if chosen is not None else ""
    if values and wanted is not None:
        tables.append(_values(wanted, title, specs, inputs))
    return Shown(tuple(tables))


def _best(dump: Listing, any_will_do: bool) -> Module | None:
    """The module whose values are most worth it, None where none is tagged."""
    there = tags.tagged_modules(dump)
    if not there and any_will_do:
        there = [group.modules[0] for group in listing.arrange(dump.catalog.modules)[0]]
    return max(there, key=lambda one: (len(one.executions) > 0, one.weight), default=None)


def _to_run(dump: Listing, module: Module) -> Path:
    """The file that is run: a recorded run, else the first stage."""
    snapshots = [file for file in module.executions if file.name.kind == "snapshot"]
    if snapshots:
        return Path(dump.root) / snapshots[-1].path
    return choosing.first_file(dump, f"#{module.id}" if module.id is not None else module.name)


def _modules(dump: Listing) -> Table:
    groups, small = listing.arrange(dump.catalog.modules)
    rows = [
        (
            group.name or "(no name)",
            " ".join(f"#{one.id}" for one in group.modules[:3] if one.id is not None),
            listing.stages_text(group.modules) or "no stage",
            str(sum(len(one.executions) for one in group.modules) or ""),
            size_text(sum(one.size for one in group.modules)),
        )
        for group in groups
    ]
    notes = _rest(len(rows), "module")
    if small:
        names = ", ".join(dict.fromkeys(one.name for one in small))
        notes.append(f"{count_text(len(small), 'small module')}: {names[:300]}")
    if not dump.catalog.modules:
        notes += doctor.explain_empty(dump.root)
    else:
        notes += doctor.remarks(dump.catalog, dump.root)
    title = f"{dump.root}: {count_text(len(dump.catalog.modules), 'module')}"
    return Table(title, ("module", "number", "stages", "runs", "size"), tuple(rows[:_ROWS]), tuple(notes))


def _rest(there: int, what: str) -> list[str]:
    return [f"and more than these {_ROWS} {what}s"] if there > _ROWS else []


def _tags(dump: Listing, only: Module | None) -> Table:
    rows: list[tuple[str, ...]] = []
    for module in [only] if only is not None else tags.tagged_modules(dump):
        if len(rows) > _ROWS:
            break
        try:
            found = tags.survival(dump, module)
        except HloTuiError as error:
            rows.append((module.name, "", error.title, "", ""))
            continue
        for life in found.tags:
            if is_user_key(life.key):
                source = f"{life.first.file}:{life.first.line}" if life.first.file else ""
                fate = f"lost after {life.lost_after}" if life.lost_after else "to the end"
                rows.append((module.name, f'{life.key}="{life.value}"', life.first.instruction, source, fate))
    notes = _rest(len(rows), "tag")
    if not rows:
        notes.append("no operation is tagged: y = set_xla_metadata(y, breakpoint=True) tags one")
    return Table("Tags", ("module", "tag", "instruction", "line", "there"), tuple(rows[:_ROWS]), tuple(notes))


def _file_tags(path: Path) -> Table:
    found = [tag for tag in tags.file_tags(path) if tag.is_user_key]
    rows = [
        (f'{tag.key}="{tag.value}"', tag.instruction, f"{tag.file}:{tag.line}" if tag.file else "")
        for tag in found
    ]
    notes = _rest(len(rows), "tag") or ([] if rows else ["no operation is tagged"])
    return Table(f"Tags of {path.name}", ("tag", "instruction", "line"), tuple(rows[:_ROWS]), tuple(notes))


_VALUES = (
    "stop",
    "instruction",
    "where",
    "line",
    "shape",
    "min",
    "max",
    "mean",
    "nan",
    "inf",
    "first values",
)


def _values(path: Path, title: str, specs: tuple[StopSpec, ...], inputs: str) -> Table:
    """Run a module to its end, or to as many stops as a table shows, and show what its stops have."""
    replay = Replay(Options(path, inputs=inputs), specs)
    rows, notes = [], []
    events = replay.events()
    try:
        for event in islice(events, _STOPS + 1):
            if event["event"] == "start":
                recorded = f"recorded in {Path(event['inputs_file']).name}" if event["inputs_file"] else ""
                notes.append(f"inputs: {recorded or event['inputs']}")
                notes += [f"not faithful to the job: {reason}" for reason in event["reasons"]]
            elif event["event"] == "end":
                rows += [_output(number, value) for number, value in enumerate(event["outputs"])]
                notes.append(
                    f"against one run of the whole module: {event['self_check']}; against the recorded result: "
                    f"{event['recorded']}"
                )
            else:
                rows.append(_stop(event))
    except HloTuiError as error:
        # What is known so far is shown all the same.
        notes.append(
            "; ".join(part for part in ("it did not run to its end", *str(error).splitlines()) if part)
        )
    finally:
        if isinstance(events, Generator):
            events.close()
    if len(rows) > _STOPS - 1:
        notes.append(f"the first {_STOPS} stops; hlo-tui replay has all")
    return Table(f"Values of {title}", _VALUES, tuple(rows[:_STOPS]), tuple(notes + replay.warnings))


def _stop(event: dict[str, Any]) -> tuple[str, ...]:
    places = [
        part["computation"] + ("" if part["iteration"] is None else f" [{part['iteration']}]")
        for part in event["path"][1:]
    ]
    partition = "" if event["partition"] is None else f"partition {event['partition']}"
    where = " ".join(part for part in (" > ".join(places), partition) if part)
    number = str(event["n"]) if event["event"] == "stop" else f"log {event['n']}"
    return (number, event["instruction"], where, event.get("source") or "", *_summary(event["value"]))


def _output(number: int, summary: dict[str, Any]) -> tuple[str, ...]:
    return ("end", f"output {number}", "", "", *_summary(summary))


def _summary(value: dict[str, Any] | None) -> Iterator[str]:
    if value is None or "count" not in value:
        words = (
            "not run yet" if value is None else str(value.get("unknown") or value.get("shape") or "a tuple")
        )
        yield from (words, "", "", "", "", "", "")
        return
    yield str(value["shape"])
    yield from (number_words(value[name]) for name in ("min", "max", "mean"))
    yield from (str(value[name]) for name in ("nan", "inf"))
    dots = " ..." if value["count"] > len(value["first"]) else ""
    yield " ".join(number_words(one) for one in value["first"]) + dots
