"""How much memory is free, and how much a process has: read from the system, None where it does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


def available(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """Bytes that can still be allocated: what the machine has free, or less where a control group allows less."""
    found = [amount for amount in (_machine(proc), *_groups(proc, cgroups)) if amount is not None]
    return min(found, default=None)


def resident(pid: int, proc: Path = _PROC) -> int | None:
    """Bytes of memory that a process holds."""
    return _field(proc / str(pid) / "status", "VmRSS:")


def _machine(proc: Path) -> int | None:
    return _field(proc / "meminfo", "MemAvailable:")


def _field(path: Path, name: str) -> int | None:
    """A line `name N kB`, in bytes."""
    for line in _text(path).splitlines():
        if line.startswith(name):
            return _number(line[len(name) :].removesuffix("kB").strip(), 1024)
    return None


def _groups(proc: Path, cgroups: Path) -> Iterator[int | None]:
    """What is left to this process's control group and each one above it, in both versions of them."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            root, limit, used = cgroups, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, used = cgroups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            yield _left(root.joinpath(*parts[:depth]), limit, used)


def _left(group: Path, limit: str, used: str) -> int | None:
    most, now = _number(_text(group / limit)), _number(_text(group / used))
    if most is None or now is None:
        return None
    # Cached files count as used, and are given up first.
    cached = 0
    for line in _text(group / "memory.stat").splitlines():
        name, _, count = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            cached = max(cached, _number(count) or 0)
    return max(most - now + cached, 0)


def _number(text: str, unit: int = 1) -> int | None:
    return int(text) * unit if text.strip().isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""


_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")


def size_words(count: int) -> str:
    """Bytes for a person: `1.5 GB`, `2.47 TB`, `999 bytes`."""
    if count < 1000:
        return f"{count} bytes"
    value, unit = count / 1000, 0
    # What would be rounded to 1000 is one of the next unit.
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:,.0f} {_UNITS[unit]}" if value >= 999.5 else f"{value:.3g} {_UNITS[unit]}"


def parse_size(text: str) -> int:
    """The bytes that a person means with `8GB`, `500 MB`, `64k` or a number.

    Raises:
        ValueError: it is no size.
    """
    found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([kmgt]?)(?:i?b)?\s*", text.lower())
    if found is None:
        raise ValueError(f"{text!r} is no size")
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2] or " "))
