"""What the commands about passes do with MLIR: histories of a kernel or of Shardy, and differences of two texts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def is_history(path: Path) -> bool:
    """Whether a path is of a history in MLIR: a log of passes, or one of the files of its steps."""
    from hlo_tui.errors import HloTuiError
    from hlo_tui.formats.opening import sort_of

    try:
        sort = sort_of(_first(path)) if not path.is_dir() or _first(path) != path else None
    except HloTuiError:
        return False
    return sort is not None and sort.language == "mlir"


def _first(path: Path) -> Path:
    """A file of the history in a directory that holds nothing else; the path itself where it is none."""
    from hlo_tui.formats.mlirpasses import series_of

    if not path.is_dir() or path.parent.name != "shardy":
        return path
    files = sorted(path.glob("*.mlir"))
    return series_of(files[0])[0] if files else path


def passes(parsed: argparse.Namespace) -> int:
    """Print the steps of a history."""
    from hlo_tui.formats import mlirpasses

    path = _first(parsed.path)
    steps = list(mlirpasses.steps_of(path))
    print(
        json.dumps(mlirpasses.to_json(path, steps))
        if parsed.json
        else mlirpasses.to_text(path, steps, parsed.only)
    )
    return 0


def are_texts(a: Path, b: Path) -> bool:
    """Whether both are texts of one language that is not HLO."""
    from hlo_tui.errors import HloTuiError
    from hlo_tui.formats.opening import sort_of

    try:
        sorts = [sort_of(path) if path.is_file() else None for path in (a, b)]
    except HloTuiError:
        return False
    languages = {sort.language if sort is not None else "" for sort in sorts}
    return len(languages) == 1 and languages != {""}


def diff(parsed: argparse.Namespace) -> int:
    """Print the lines that differ; 1 where any do."""
    from hlo_tui.formats.mlirpasses import difference
    from hlo_tui.formats.opening import open_page
    from hlo_tui.hlo.visible import visible

    pages = [open_page(path) for path in (parsed.a, parsed.b)]
    for page in pages:
        page.scan()
    added, removed = difference(*pages)
    if parsed.json:
        told = {
            "equal": not added and not removed,
            "added": added,
            "removed": removed,
            "modified": [],
            "renamed": 0,
        }
        print(json.dumps(told))
    elif not added and not removed:
        print("equal, but for numbers in names and for locations")
    else:
        print(
            "\n".join(
                visible(row) for row in (*(f"- {one}" for one in removed), *(f"+ {one}" for one in added))
            )
        )
    return int(bool(added or removed))
