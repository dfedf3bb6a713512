"""Shardings by the names of mesh axes, rewritten as lists of devices, which every XLA reads."""

from __future__ import annotations

import re

from hlo_tui.hlo.numerals import number_of, product

_NAMED = re.compile(
    r"\{mesh\[([^\]]*)\],\s*(?:(manual|replicated|maximal)|\[((?:\{[^{}]*\}(?:,\s*)?)*)\])((?:[^{}]|\{[^{}]*\})*)\}"
)
_AXIS = re.compile(r"'([^']*)'\s*=\s*(\d{1,9})\b")
_IDS = re.compile(r"device_ids=\(([\d,\s]*)\)")
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"'([^']*)'(:)?")
# No mesh has more devices; a list of them is not made for a number that a damaged text has.
_MOST_DEVICES = 1 << 20


def rewrite(text: bytes) -> bytes:
    """The text with each named sharding as a list of devices; one with parts of axes stays as it is."""
    if b"{mesh[" not in text:
        return text
    return _NAMED.sub(_listed, text.decode("latin-1")).encode("latin-1")


def _listed(found: re.Match[str]) -> str:
    mesh, word, dimensions, _ = found.groups()
    if word:
        return "{" + word + "}"
    axes = {name: int(size) for name, size in _AXIS.findall(mesh)}
    cut = [
        [name for name, part in _NAME.findall(one) if not part]
        for one in _DIMENSION.findall(dimensions or "")
    ]
    parts = any(part for one in _DIMENSION.findall(dimensions or "") for _, part in _NAME.findall(one))
    used = [name for names in cut for name in names]
    if parts or len(set(used)) != len(used) or not set(used) <= set(axes):
        return found.group()
    count = product(axes.values())
    if not 0 < count <= _MOST_DEVICES:
        return found.group()
    tiles = [product(axes[name] for name in names) for names in cut]
    if not used:
        return "{replicated}"
    rest = count // product(tiles)
    devices = ",".join(map(str, _in_order(axes, used, mesh)))
    if rest == 1:
        return f"{{devices=[{','.join(map(str, tiles))}]{devices}}}"
    return f"{{devices=[{','.join(map(str, [*tiles, rest]))}]{devices} last_tile_dim_replicate}}"


def _in_order(axes: dict[str, int], used: list[str], mesh: str) -> list[int]:
    """The devices with the used axes outermost, in the order of their use, and the others inside."""
    written = _IDS.search(mesh)
    ids = [number_of(n) for n in written[1].split(",")] if written else [None]
    order = [*used, *(name for name in axes if name not in used)]
    strides, step = {}, 1
    for name in reversed(list(axes)):
        strides[name], step = step, step * axes[name]
    places = [0]
    for name in order:
        places = [place + n * strides[name] for place in places for n in range(axes[name])]
    known = [number for number in ids if number is not None]
    return [known[place] for place in places] if len(known) == len(ids) == len(places) else places
