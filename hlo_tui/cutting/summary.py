"""The summary of a bug report's files, as Markdown to paste."""

from __future__ import annotations

import platform
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hlo_tui import __version__
from hlo_tui.dump.words import size_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.visible import visible

_OPTIONS = 40
_TOP = 8
# Instructions of a module that are all taken apart for the summary.
_COUNTED = 200_000
_PACKAGES = ("jax", "jaxlib", "numpy", "scipy")

_Files = Sequence[tuple[str, str, bytes]]


def summary_of(name: str, number: int | None, files: _Files) -> str:
    """Tell what a module is, in what stages it is there, and how to run it.

    Args:
        name: of the module.
        number: its number, None where it has none.
        files: name, purpose and bytes of each file that goes along.
    """
    title = f"{visible(name)} #{number}" if number is not None else visible(name)
    lines = [f"# {title}", "", "<!-- what happens, and what should: -->", "", "## Module", ""]
    stages = [(file, _scanned(file, data)) for file, why, data in files if why.startswith("the module, ")]
    known = [(file, module) for file, module in stages if module is not None]
    lines += ["| stage | instructions | computations | most frequent |", "|---|---|---|---|"]
    for file, module in known:
        assert module.outline is not None
        outline = module.outline
        lines.append(
            f"| `{_cell(file)}` | {outline.instructions:,} | {len(outline.computations):,} | {_opcodes(module)} |"
        )
    if known:
        lines += ["", *_facts(known[0][1])]
    options = [data for _, why, data in files if why == "the flags that were not default"]
    if options:
        lines += ["", "## Flags that were not default", "", "```", *_first_lines(options[0]), "```"]
    lines += ["", "## Versions", "", "Of the machine that made this; the job's may be others.", ""]
    lines += [f"- {line}" for line in versions()]
    lines += ["", "## Files", ""]
    lines += [f"- `{_cell(file)}`: {why}, {size_text(len(data))}" for file, why, data in files]
    if known:
        lines += ["", "## To run it", "", "```", f"hlo-tui replay {visible(known[0][0])}", "```"]
    return "\n".join(lines) + "\n"


def versions() -> list[str]:
    """What is installed here."""
    found = [f"hlo-tui {__version__}", f"Python {platform.python_version()}", platform.platform()]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found


def _scanned(name: str, data: bytes) -> Module | None:
    with tempfile.TemporaryDirectory(prefix="hlo-tui-bundle-") as scratch:
        path = Path(scratch, f"module{''.join(Path(name).suffixes[-3:])}"[:80])
        path.write_bytes(data)
        try:
            module = Module(open_document(path).source)
            module.scan()
        except HloTuiError:
            return None
        return module


def _opcodes(module: Module) -> str:
    assert module.outline is not None
    if module.outline.instructions > _COUNTED:
        return "too many to count"
    counts: Counter[str] = Counter()
    for computation in module.outline.computations:
        counts.update(one.opcode for one in module.body(computation).instructions)
    return ", ".join(f"{_cell(opcode)} {count:,}" for opcode, count in counts.most_common(_TOP))


def _facts(module: Module) -> list[str]:
    assert module.outline is not None
    header, facts = module.header, []
    if header.entry_layout:
        facts.append(f"- entry: `{_cell(header.entry_layout[:400])}`")
    facts.append(f"- partitions: {header.num_partitions}, replicas: {header.replica_count}")
    if module.outline.elided_constants:
        facts.append(f"- constants without values in the text: {module.outline.elided_constants}")
    targets: Counter[str] = Counter()
    few = module.outline.instructions <= _COUNTED
    for computation in module.outline.computations if few else ():
        for one in module.body(computation).instructions:
            if one.opcode == "custom-call":
                targets[one.attributes.get("custom_call_target", "").strip('"')] += 1
    if targets:
        named = ", ".join(f"`{_cell(target)}` ×{count}" for target, count in targets.most_common(_TOP))
        facts.append(f"- custom calls: {named}")
    return facts


def _first_lines(data: bytes) -> list[str]:
    lines = [visible(line) for line in data.decode("utf-8", "replace").splitlines()]
    more = [f"... {len(lines) - _OPTIONS:,} more"] if len(lines) > _OPTIONS else []
    return [line.replace("```", "'''") for line in lines[:_OPTIONS]] + more


def _cell(text: str) -> str:
    return visible(text).replace("|", "\\|").replace("`", "'")
