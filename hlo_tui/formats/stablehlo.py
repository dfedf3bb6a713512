"""The operations of a module of StableHLO with their names, types and places, read line by line."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace

from hlo_tui.formats.locations import NOWHERE, Location, Locations, at_end, read_aliases
from hlo_tui.formats.page import Page

# Bytes of a text up to which it is read for links.
MOST_BYTES = 128 << 20
_LONGEST_LINE = 1 << 16
_OP = re.compile(
    r"^(?P<indent>\s*)(?:(?P<result>%[\w$.\-]+)(?::(?P<count>\d+))?(?:, ?%[\w$.\-]+(?::\d+)?)* = )?"
    r'"?(?P<op>[a-z_]\w*(?:\.[a-z_][\w.]*)?)"?(?=[\s(@])'
)
_CALLED = re.compile(r'(?:func\.)?call @("[^"\n]+"|[\w.$\-]+)')
_FUNCTION = re.compile(r'^\s*(?:func\.)?func (?:[a-z]+ )*@("[^"\n]+"|[\w.$\-]+)')
_TENSOR = re.compile(r"(?:tensor|memref)<([^<>]*(?:<[^<>]*>[^<>]*)*)>")
_SIZES = re.compile(r"^((?:(?:\d+|\?)x)*)(.*)$", re.S)
_ELEMENTS = {"i1": "pred", "complex<f32>": "c64", "complex<f64>": "c128"}
_INTEGER = re.compile(r"^(u?)i(\d+)$")
# Words that stand where an operation does and are none.
_NONE = frozenset(("func.func", "module", "builtin.module", "func", "cond", "do", "sdy.mesh", "loc", "init"))
# Operations that HLO calls otherwise; others have the same name with minus signs.
_OPCODES = {
    "dot_general": ("dot",), "case": ("conditional",), "if": ("conditional",), "return": ("tuple",),
    "optimization_barrier": ("opt-barrier",), "broadcast_in_dim": ("broadcast", "reshape"), "call": ("call",),
    "dynamic_broadcast_in_dim": ("broadcast",), "create_token": ("after-all",), "composite": ("call",),
    "dynamic_reshape": ("reshape", "dynamic-reshape"), "torch_index_select": ("gather",),
}  # fmt: skip
# A function called from many places has so many full names at most, of so many calls around one another.
_MOST_NAMES, _DEEPEST = 32, 32


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        line: from 0.
        function: the name of the one it is in.
        result: what it defines, with its sign; empty where nothing.
        opcode: without its dialect.
        dialect: `stablehlo` and others; empty for `call` and `return`.
        shape: the type of its first result in HLO's spelling without layout, tuples not; empty where it has none.
        location: where it comes from.
        called: the function that it calls, else empty.
        several: whether it has more than one result.
    """

    line: int
    function: str
    result: str
    opcode: str
    dialect: str
    shape: str
    location: Location
    called: str = ""
    several: bool = False

    @property
    def opcodes(self) -> tuple[str, ...]:
        """What HLO may call it; nothing is known of dialects that are taken apart on the way."""
        if self.dialect not in ("stablehlo", "mhlo", "func", ""):
            return ()
        return _OPCODES.get(self.opcode, (self.opcode.replace("_", "-"),))


class Program:
    """The operations of a module, by line and by name."""

    def __init__(self, operations: list[Operation]) -> None:
        self.operations = operations
        self.by_line = {one.line: one for one in operations}
        self._names: dict[str, list[Operation]] = defaultdict(list)
        self._full: dict[str, list[Operation]] = defaultdict(list)
        calls: dict[str, list[Operation]] = defaultdict(list)
        for one in operations:
            self._names[one.location.name].append(one)
            if one.called:
                calls[one.called].append(one)
        self._calls = calls
        self._prefixes: dict[str, tuple[str, ...]] = {}
        for one in operations:
            for name in self.full_names(one):
                self._full[name].append(one)

    def named(self, name: str) -> list[Operation]:
        """The operations with this name, as it is before functions are put into one another."""
        return self._names.get(name, []) if name else []

    def fully_named(self, name: str) -> list[Operation]:
        """The operations with this name, as it is after that."""
        return self._full.get(name, []) if name else []

    def full_names(self, operation: Operation) -> tuple[str, ...]:
        """Its names once every function is put in where it is called."""
        name = operation.location.name
        prefixes = self._prefixes_of(operation.function, 0)
        if not name:
            return ()
        return tuple(_joined(prefix, name) for prefix in prefixes) if prefixes else (name,)

    def _prefixes_of(self, function: str, depth: int) -> tuple[str, ...]:
        known = self._prefixes.get(function)
        if known is not None:
            return known
        # A function that calls itself has no names beyond this one.
        self._prefixes[function] = ()
        found: list[str] = []
        for call in self._calls.get(function, ())[:_MOST_NAMES] if depth < _DEEPEST else ():
            around = self._prefixes_of(call.function, depth + 1)
            name = call.location.name
            found += [_joined(prefix, name) for prefix in around] if around else [name]
        self._prefixes[function] = tuple(dict.fromkeys(found))[:_MOST_NAMES]
        return self._prefixes[function]


def _joined(prefix: str, name: str) -> str:
    """A name inside of another one, as XLA joins them: a part without a name is left out."""
    return f"{prefix}/{name}".replace("//", "/").rstrip("/")


def read_program(page: Page) -> Program:
    """The operations of a scanned page of MLIR; none of a text that is too large to be read for links."""
    lines = page.lines
    if lines is None or page.source.size > MOST_BYTES:
        return Program([])
    texts = page.source.read(0, page.source.size).decode("utf-8", "replace").split("\n")
    locations = Locations(read_aliases(text for text in texts if text.startswith("#loc")))
    operations: list[Operation] = []
    waiting: list[tuple[int, int]] = []
    function = ""
    for number, text in enumerate(texts):
        if text.startswith("#") or len(text) > _LONGEST_LINE:
            continue
        started = _FUNCTION.match(text)
        if started is not None:
            function, waiting = started[1].strip('"'), []
            continue
        plain, location = at_end(text)
        indent = len(text) - len(text.lstrip())
        if text[indent : indent + 1] == "}":
            _end(operations, waiting, indent, locations.of(location) if location else None, plain)
            continue
        found = _OP.match(text)
        if (
            found is None
            or found["op"] in _NONE
            or ("." not in found["op"] and found["op"] not in ("call", "return"))
        ):
            continue
        operations.append(
            _operation(found, number, function, plain, locations.of(location) if location else NOWHERE)
        )
        if not location:
            waiting.append((indent, len(operations) - 1))
    return Program(operations)


def _operation(found: re.Match[str], line: int, function: str, plain: str, location: Location) -> Operation:
    dialect, _, opcode = found["op"].rpartition(".")
    called = _CALLED.search(plain) if opcode == "call" else None
    name = called[1].strip('"') if called is not None else ""
    several = bool(found["count"]) and found["count"] != "1"
    result = found["result"] or ""
    return Operation(line, function, result, opcode, dialect, _result(plain), location, name, several)


def _end(
    operations: list[Operation],
    waiting: list[tuple[int, int]],
    indent: int,
    location: Location | None,
    plain: str,
) -> None:
    """Give the location behind a region's end to the operation that the region is of."""
    while waiting and waiting[-1][0] > indent:
        waiting.pop()
    if location is None or not waiting or waiting[-1][0] != indent:
        return
    at = waiting.pop()[1]
    one = operations[at]
    operations[at] = replace(one, shape=one.shape or _result(plain), location=location)


def _result(plain: str) -> str:
    """The type of the first result on a line without its location, in HLO's spelling."""
    at = plain.rfind(" -> ")
    if at < 0:
        at = plain.rfind(" : ")
    if at < 0 or plain.endswith("{"):
        return ""
    found = _TENSOR.search(plain, at)
    return hlo_shape(found[1]) if found is not None else ""


def hlo_shape(inside: str) -> str:
    """What stands between the brackets of a tensor's type, in HLO's spelling: `4x8xf32` is `f32[4,8]`."""
    plain = inside.split(",")[0] if "complex" not in inside else inside.split(">,")[0]
    sizes = _SIZES.match(plain.strip())
    if sizes is None:
        return ""
    element = sizes[2].strip()
    integer = _INTEGER.match(element)
    if element in _ELEMENTS:
        element = _ELEMENTS[element]
    elif integer is not None:
        element = f"{'u' if integer[1] else 's'}{integer[2]}"
    return f"{element.lower()}[{','.join(part for part in sizes[1].split('x') if part)}]"
