"""Pass histories in MLIR: one log of all passes, or a file for each; what every step changed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.formats.locations import at_end
from hlo_tui.formats.opening import open_page
from hlo_tui.formats.page import Entry, Page
from hlo_tui.hlo.visible import visible

_MOST_FILES = 20_000
_DIGITS = 20
# How the files of one history are called: what they have in common, and what tells them apart.
_KERNEL = re.compile(r"^(?P<of>.+)-(?P<step>(?:pre|post)-[a-z]+)\.mlir$")
_SHARDY = re.compile(r"^(?P<at>\d{1,6})\.(?P<step>[^.]+)\.mlir$")
_NUMBERED = re.compile(
    rf"^(?P<at>\d{{1,{_DIGITS}}})[-._](?P<of>.*?)(?:[-._](?P<step>original|(?:pre|post|before|after)[-_][\w-]+|simplified[\w-]*))"
    r"\.(?:txt|mlir)$"
)
_PASS = re.compile(r"^(?P<of>.+)\.pass_(?P<at>\d{1,9})[._](?P<step>.+)\.mlir$")
_ORDER = ("pre-optimization", "post-optimization", "pre-lowering", "post-lowering")
_MARK = re.compile(
    r"^(?P<when>Before|After) (?P<name>[^()]+?)(?: Failed)? ?(?:\((?P<short>[^()']*)\))? ?"
    r"(?:\('[^']*' operation(?:: (?P<of>[^)]*))?\))?$"
)
_NUMBER = re.compile(r"%\d+|#loc\w*|%[a-z]+_\d+")
_OPERATION = re.compile(r'(?:= |^\s*)"?[a-z_][\w$]*\.[a-z_]')


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a history.

    Attributes:
        number: from 0.
        name: of the pass, or of the file.
        of: the operation that the pass ran on, where that is said.
        path: the file.
        line: where its text begins in it, from 0.
        operations: how many lines with an operation there are.
        added, removed: lines that are new, and that are not there any more; numbers in names do not count.
        changed: whether there are any.
    """

    number: int
    name: str
    of: str
    path: Path
    line: int
    operations: int
    added: int
    removed: int
    changed: bool


def series_of(path: Path) -> tuple[Path, ...]:
    """The files of the history that a file is a step of, in the order of the passes; it alone where it is none."""
    found = _key(path)
    if found is None:
        return (path,)
    pattern, of, _ = found
    steps = []
    try:
        with os.scandir(path.parent) as entries:
            for count, entry in enumerate(entries):
                match = pattern.match(entry.name) if count < _MOST_FILES else None
                if match is not None and match.groupdict().get("of", "") == of and entry.is_file():
                    steps.append((_at(match), entry.stat().st_mtime_ns, entry.name))
    except OSError:
        return (path,)
    return tuple(path.parent / name for _, _, name in sorted(steps)) or (path,)


def _key(path: Path) -> tuple[re.Pattern[str], str, str] | None:
    patterns = (_SHARDY,) if path.parent.parent.name == "shardy" else (_PASS, _KERNEL, _NUMBERED)
    for pattern in patterns:
        match = pattern.match(path.name)
        if match is not None:
            return pattern, match.groupdict().get("of", ""), match["step"]
    return None


def _at(match: re.Match[str]) -> int:
    if "at" in match.groupdict():
        return int(match["at"])
    return _ORDER.index(match["step"]) if match["step"] in _ORDER else len(_ORDER)


def steps_of(path: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Step]:
    """The steps of the history that is in a file, or that a file is one of.

    Raises:
        HloTuiError: the file cannot be read, or is of no history.
    """
    page = open_page(path)
    page.scan(stop=stop)
    if page.sort.id == "mlir-passes":
        yield from _of_log(path, page)
        return
    files = series_of(path)
    if page.sort.language != "mlir" or len(files) < 2:
        hint = "Files of one history lie in one directory, called alike but for the step."
        raise HloTuiError("this is no step of passes", f"{visible(str(path))} is {page.sort.words}", hint)
    before: Counter[str] | None = None
    for number, file in enumerate(files):
        if stop():
            return
        try:
            one = open_page(file)
        except HloTuiError:
            continue
        one.scan(stop=stop)
        found = _key(file)
        lines = _lines(one, 0, one.lines.count if one.lines is not None else 0)
        yield _step(
            number,
            found[2] if found is not None else file.name,
            found[1] if found else "",
            (file, 0),
            lines,
            before,
        )
        before = lines


def _of_log(path: Path, page: Page) -> Iterator[Step]:
    last: dict[str, Counter[str]] = {}
    newest: Counter[str] | None = None
    for number, entry in enumerate(one for one in page.entries if one.kind == "pass"):
        name, of = named(entry)
        lines = _lines(page, entry.line + 1, entry.last + 1)
        yield _step(number, name, of, (path, entry.line), lines, last.get(of, newest))
        newest = last[of] = lines


def named(entry: Entry) -> tuple[str, str]:
    """The pass and the operation that a mark in a log names."""
    match = _MARK.match(entry.name)
    if match is None:
        return entry.name, ""
    name = match["short"] or match["name"]
    return (f"before {name}" if match["when"] == "Before" else name), match["of"] or ""


def _lines(page: Page, first: int, end: int) -> Counter[str]:
    """The lines of a step without locations and numbers, which change when anything does."""
    found: Counter[str] = Counter()
    for line in range(first, end):
        text = page.text(line)
        if not text.startswith("#loc") and text.strip():
            found[_NUMBER.sub("%", at_end(text)[0])] += 1
    return found


def _step(
    number: int, name: str, of: str, place: tuple[Path, int], lines: Counter[str], before: Counter[str] | None
) -> Step:
    added = (lines - before).total() if before is not None else 0
    removed = (before - lines).total() if before is not None else 0
    operations = sum(count for text, count in lines.items() if _OPERATION.search(text))
    return Step(number, name, of, place[0], place[1], operations, added, removed, bool(added or removed))


def to_json(path: Path, steps: list[Step]) -> dict[str, Any]:
    """The history as plain data, in the form of a timeline of HLO passes; lines are counted from 1."""
    return {
        "module": path.name,
        "passes": [
            {
                "step": step.number,
                "pipeline": step.of,
                "pass": step.name,
                "changed": step.changed,
                "instructions": step.operations,
                "added": step.added,
                "removed": step.removed,
                "modified": 0,
                "ms": None,
                "path": str(step.path),
                "line": step.line + 1,
            }
            for step in steps
        ],
    }


def to_text(path: Path, steps: list[Step], only: str = "") -> str:
    """The history for people, safe for a terminal."""
    changed = sum(step.changed for step in steps)
    rows = [f"{path.name}: {count_text(len(steps), 'step')}, {changed:,} changed something", ""]
    shown = [step for step in steps if only.lower() in step.name.lower()]
    several = len({step.of for step in steps}) > 1
    width = min(60, max((len(step.name) for step in shown), default=0))
    rows.append(f"{'step':>5}  {'pass':<{width}}  {'operations':>10}  {'lines':>14}")
    for step in shown:
        lines = f"+{step.added:,} -{step.removed:,}" if step.changed else "as before" if step.number else ""
        of = f"  {step.of}" if step.of and several else ""
        rows.append(f"{step.number:>5}  {step.name[:60]:<{width}}  {step.operations:>10,}  {lines:>14}{of}")
    return "\n".join(visible(row.rstrip()) for row in rows)


def difference(a: Page, b: Page) -> tuple[list[str], list[str]]:
    """The lines that only the second of two scanned pages has, and those that only the first has; numbers in names
    and locations do not count."""
    ours, theirs = (_lines(page, 0, page.lines.count if page.lines is not None else 0) for page in (a, b))
    return sorted((theirs - ours).elements()), sorted((ours - theirs).elements())
