"""The op_name of the metadata as a path of scopes, and sums over the tree of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hlo_tui.hlo.frames import SourceFrame

_OPEN, _CLOSE = "([{", ")]}"
# What the libraries around a program are installed in: their lines are not the person's own.
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen ")
WITHOUT = "(no op_name)"
_DEEPEST = 64


def scopes(op_name: str) -> tuple[str, ...]:
    """The scopes of an op_name, the outermost first; what stands in brackets is not split."""
    if "/" not in op_name:
        return (op_name,) if op_name else ()
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(op_name):
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth = max(0, depth - 1)
        elif letter == "/" and depth == 0:
            parts.append(op_name[begin:place])
            begin = place + 1
            if len(parts) == _DEEPEST:
                break
    parts.append(op_name[begin:])
    return tuple(part for part in parts if part)


def own_frame(frames: Iterable[SourceFrame]) -> SourceFrame | None:
    """The innermost frame that is no library's, else the innermost; None where there are none."""
    first = None
    for frame in frames:
        first = first or frame
        if not any(part in frame.file for part in _INSTALLED):
            return frame
    return first


@dataclass(slots=True)
class Scope:
    """One scope and what is in it.

    Attributes:
        name: its last part.
        total: the sum of everything in it, of its inner scopes too.
        count: how many amounts that are.
        inner: the scopes in it.
    """

    name: str
    total: float = 0
    count: int = 0
    inner: dict[str, Scope] = field(default_factory=dict)

    def largest(self) -> list[Scope]:
        """The scopes in it, the largest first."""
        return sorted(self.inner.values(), key=lambda scope: (-scope.total, scope.name))


def summed(amounts: Iterable[tuple[str, float]]) -> Scope:
    """The tree of scopes for pairs of op_name and amount; what has no op_name is under `WITHOUT`."""
    root = Scope("")
    for op_name, amount in amounts:
        at = root
        at.total += amount
        at.count += 1
        for part in scopes(op_name) or (WITHOUT,):
            at = at.inner.setdefault(part, Scope(part))
            at.total += amount
            at.count += 1
    return root


def walk(root: Scope, least: float, depth: int = 0) -> Iterator[tuple[int, str, Scope]]:
    """Depth, name and scope of every scope of at least `least`, each before those in it.

    Scopes that hold one other, and besides it less than `least`, are told in one name with that.
    """
    waiting = [(depth, scope) for scope in reversed(root.largest())]
    while waiting:
        depth, at = waiting.pop()
        if at.total < least:
            continue
        name = at.name
        while at.inner and (largest := at.largest()[0]).total > at.total - least:
            name, at = f"{name}/{largest.name}", largest
        yield depth, name, at
        waiting += [(depth + 1, inner) for inner in reversed(at.largest())]
