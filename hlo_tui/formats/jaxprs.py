"""The equations of a jaxpr with what they are inside of, and which of them an operation's name means."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hlo_tui.formats.page import Page

MOST_BYTES = 64 << 20
_MOST = 500_000
# Of a jaxpr that many equations use so many ways to it are told, through so many others.
_MOST_PATHS, _DEEPEST = 16, 32
_TOKEN = re.compile(
    r"(?P<string>'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+')"
    r"|\blet (?P<shared>\w{1,200}) = (?=\{ ?lambda\b)"
    r"|(?P<open>\{ ?lambda\b)|(?P<brace>\{)|(?P<close>\})"
    r"|(?P<outs>(?:(?:[a-z]{1,6}\d{0,6}|_):[^\s=]{1,400}\s+){0,400}+)(?<=[\s;])= (?P<primitive>[a-z_]\w*)"
    r"|(?<![\w.])(?P<key>[a-z_]\w*)=(?P<name>[A-Za-z_<][\w<>.]*+)?"
)
_OUT = re.compile(r"(?:[a-z]{1,6}\d{0,6}|_):(\S+)")
_ELEMENT = re.compile(r"^([a-z]+\d*\w*)\[(.*)\]$", re.S)
_ELEMENTS = {"bool": "pred", "c64": "c64", "c128": "c128"}
_SIGNED = re.compile(r"^([iu])(\d+)$")
_WRAPPED = re.compile(
    r"^(?:transpose|jvp|vmap|pmap|remat\w*|checkpoint|linearize|custom_vjp\w*)\((.*)\)$", re.S
)
_CALL = re.compile(r"^(?:jit|pjit|xla_call|core_call)\((.*)\)$", re.S)
_LOOPS = frozenset(("scan", "while", "fori_loop"))
# What an equation is called in the name of an operation, where that is not the primitive.
_NAMES = {
    "scan": ("while", "scan"), "custom_jvp_call": ("custom_jvp_call",), "remat": ("checkpoint", "remat"),
    "checkpoint": ("checkpoint", "rematted_computation"), "jit": ("jit", "pjit"), "pjit": ("jit", "pjit"),
    "custom_vjp_call": ("custom_vjp_call",), "closed_call": ("closed_call",), "add_any": ("add_any", "add"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation.

    Attributes:
        line: where its primitive is written, from 0.
        outs: what it defines, as written; empty where nothing.
        primitive: what it does.
        shape: the type of its first result in HLO's spelling; empty where it has none.
        path: the parts of an operation's name that say what it is inside of, outermost first.
        name: of the function that it calls, where it says one.
        owner: the place, among all, of the equation that it is inside of; -1 at the top, less inside of a jaxpr that
            several equations share.
        others: paths besides the first, for what is in such a jaxpr.
    """

    line: int
    outs: str
    primitive: str
    shape: str
    path: tuple[str, ...]
    name: str = ""
    owner: int = -1
    others: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The equations that a name may mean, all as likely; `sure` where the name, the type and what it is inside of
    all say so."""

    equations: tuple[Equation, ...]
    sure: bool


@dataclass(slots=True)
class _Level:
    """What is open: a jaxpr of an equation, or a brace."""

    equation: int = -1
    part: tuple[str, ...] = ()
    lambda_: bool = False
    shared: str = ""


def read_equations(page: Page) -> list[Equation]:
    """The equations of a scanned page, in the order of the text; none of one that is too large."""
    if page.lines is None or page.source.size > MOST_BYTES:
        return []
    text = page.source.read(0, page.source.size).decode("utf-8", "replace")
    return _Reader(text).equations()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Equation] = []
        self._levels: list[_Level] = []
        # The equation whose parameters are being read, and how many jaxprs it has shown.
        self._current = -1
        self._shown: dict[int, int] = {}
        self._key = ""
        # Jaxprs that stand before the others under a name: where each is used, and which equations are in it.
        self._next = ""
        self._uses: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        self._within: dict[int, str] = {}

    def equations(self) -> list[Equation]:
        line = at = 0
        for match in _TOKEN.finditer(self._text):
            kind = match.lastgroup
            if kind == "primitive":
                place = match.start("primitive")
                line += self._text.count("\n", at, place)
                at = place
                self._equation(match["outs"].strip(), match["primitive"], line)
            elif kind in ("key", "name"):
                self._parameter(match["key"], match["name"] or "")
            elif kind == "open":
                if self._next:
                    self._uses[self._next] = []
                    self._levels.append(_Level(-1 - len(self._uses), (), True, self._next))
                    self._next, self._current = "", -1
                else:
                    self._levels.append(_Level(self._current, self._part(), True))
            elif kind == "shared":
                self._next = match["shared"]
            elif kind == "brace":
                self._levels.append(_Level())
            elif kind == "close" and self._levels:
                level = self._levels.pop()
                if level.lambda_:
                    self._current = max(-1, level.equation)
            if len(self._found) >= _MOST:
                break
        return self._placed() if self._within else self._found

    def _placed(self) -> list[Equation]:
        """The equations with the paths of those that use the jaxpr that they are in."""
        known: dict[str, list[tuple[str, ...]]] = {}

        def paths(name: str, depth: int) -> list[tuple[str, ...]]:
            if name not in known:
                known[name] = []
                for at, part in self._uses[name] if depth < _DEEPEST else ():
                    user, around = self._found[at], self._within.get(at)
                    before = paths(around, depth + 1) if around is not None else [()]
                    known[name] += [(*start, *user.path, *part) for start in before]
                del known[name][_MOST_PATHS:]
            return known[name]

        placed = list(self._found)
        for at, name in self._within.items():
            one = self._found[at]
            whole = [(*start, *one.path) for start in paths(name, 0)]
            if whole:
                placed[at] = replace(one, path=whole[0], others=tuple(whole[1:]))
        return placed

    def _equation(self, outs: str, primitive: str, line: int) -> None:
        first = _OUT.search(outs)
        shape = jaxpr_shape(first[1]) if first is not None else ""
        path = tuple(part for level in self._levels for part in level.part)
        self._current = len(self._found)
        shared = next((level.shared for level in self._levels if level.shared), "")
        if shared:
            self._within[self._current] = shared
        owner = next((level.equation for level in reversed(self._levels) if level.lambda_), -1)
        self._found.append(Equation(line, outs, primitive, shape, path, "", owner))

    def _parameter(self, key: str, name: str) -> None:
        self._key = key
        if key != "name" and name in self._uses and 0 <= self._current < len(self._found):
            self._uses[name].append((self._current, self._part()))
        if key == "name" and name and 0 <= self._current < len(self._found):
            old = self._found[self._current]
            if not old.name and self._current not in self._shown:
                self._found[self._current] = replace(old, name=name)

    def _part(self) -> tuple[str, ...]:
        """What the name of an operation inside of the jaxpr that begins here has more than its equation's."""
        if self._current < 0:
            return ()
        equation = self._found[self._current]
        number = self._shown.get(self._current, 0)
        self._shown[self._current] = number + 1
        primitive = equation.primitive
        if primitive in ("jit", "pjit", "xla_call", "core_call"):
            return (f"jit({equation.name})",) if equation.name else ("jit",)
        if primitive == "cond":
            return ("cond", f"branch_{number}_fun")
        if primitive in _LOOPS:
            return ("while", "cond" if "cond" in self._key else "body")
        return (_NAMES.get(primitive, (primitive,))[0],)


def jaxpr_shape(text: str) -> str:
    """A type of a jaxpr in HLO's spelling: `i32[2,3]` is `s32[2,3]`, `bool[]` is `pred[]`."""
    found = _ELEMENT.match(text)
    if found is None:
        return ""
    element, sizes = found[1], found[2]
    signed = _SIGNED.match(element)
    if signed is not None:
        element = f"{'s' if signed[1] == 'i' else 'u'}{signed[2]}"
    element = element.replace("float8_", "f8").replace("float4_", "f4").replace("_", "")
    plain = ",".join(part.split("@")[0].strip() for part in sizes.split(",")) if sizes else ""
    return f"{_ELEMENTS.get(element, element)}[{plain}]"


def split_name(op_name: str) -> tuple[str, ...]:
    """The parts of an operation's name without what transformations put around them: `jit(f)/jvp(while)/body/mul`."""
    parts: list[str] = []
    depth = start = 0
    name = op_name.split(";")[0]
    for at, letter in enumerate(f"{name}/"):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "/" and depth <= 0:
            part = _unwrapped(name[start:at])
            start = at + 1
            parts += [
                one for one in (split_name(part) if "/" in part and "(" not in part else (part,)) if one
            ]
    return tuple(parts)


def _unwrapped(part: str) -> str:
    # Older versions write the parameters of a primitive behind it.
    if "[" in part:
        part = part[: part.index("[")]
    found = _WRAPPED.match(part)
    while found is not None:
        part = found[1]
        found = _WRAPPED.match(part)
    return part


def equations_named(
    equations: list[Equation], op_name: str, shape: str, frames: dict[int, str], place: str
) -> Found:
    """The equations that an operation's name means.

    Args:
        equations: of the jaxpr.
        op_name: the full name.
        shape: the type of its result in HLO's spelling without layout.
        frames: where lines of the jaxpr come from, `file:line:column` to a line, as far as that is known.
        place: the same for the operation; empty where it is not known.
    """
    parts = split_name(op_name)
    if len(parts) < 2 and not (parts and _CALL.match(parts[0]) is None):
        return Found((), False)
    last, around = parts[-1], parts[:-1]
    call = _CALL.match(last)
    found = [one for one in equations if _means(one, last, call[1] if call is not None else "")]
    scored = [(max(_alike(path, around) for path in (one.path, *one.others)), one) for one in found]
    if not scored:
        return Found((), False)
    best = max(score for score, _ in scored)
    found = [one for score, one in scored if score == best]
    placed = [one for one in found if place and frames.get(one.line) == place]
    same = [one for one in placed or found if one.shape == shape]
    chosen = same or placed or found
    return Found(tuple(chosen), len(chosen) == 1 and bool(same) and best == 0)


def _means(equation: Equation, last: str, called: str) -> bool:
    if called:
        return equation.primitive in ("jit", "pjit", "xla_call", "core_call") and equation.name in (
            "",
            called,
        )
    return last == equation.primitive or last in _NAMES.get(equation.primitive, ())


def _alike(path: tuple[str, ...], around: tuple[str, ...]) -> int:
    """How well a path fits into a name, 0 the best: minus the parts of the path that are not in the name in their
    order, and the structural parts of the name that are not in the path."""
    at = missed = 0
    for part in path:
        place = next((index for index in range(at, len(around)) if _same(part, around[index])), -1)
        if place < 0:
            missed += 2
        else:
            at = place + 1
    structural = sum(1 for part in around if part in ("while", "body", "cond") or part.startswith("branch_"))
    known = sum(1 for part in path if part in ("while", "body", "cond") or part.startswith("branch_"))
    return -missed - abs(structural - known)


def _same(part: str, other: str) -> bool:
    return part == other or (part == "jit" and _CALL.match(other) is not None)
