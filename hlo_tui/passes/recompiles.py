"""Why a function was compiled more than once: for each compilation what is new against the one before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module
from hlo_tui.dump.names import canonical
from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.attributes import parse_metadata, split_top
from hlo_tui.hlo.numerals import number_of
from hlo_tui.hlo.shape import parse_shape
from hlo_tui.hlo.source import FileSource, SpanSource
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.changes import VALUE
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.contents import Contents, Interner, Token
from hlo_tui.passes.nodes import METADATA
from hlo_tui.passes.stages import open_stage, path_of, readable_stages

FINISHED, UNFINISHED, CACHED = "finished", "unfinished", "from a compile cache"
_SHAPE, _TYPE, _SHARDING, _DONATED = "argument shape", "argument type", "argument sharding", "donated"
_COUNT, _RESULT, _CONSTANTS, _PROGRAM = "number of arguments", "result shape", "constants", "program"
_FLAG, _OPTION, _NOTHING = "flag", "compile option", "nothing"
# Where and how to dump makes no other program.
_OF_NO_EFFECT = ("xla_dump_", "xla_enable_dumping", "xla_detailed_logging")
_LONGEST_FILE = 1 << 22


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of the entry."""

    name: str
    dtype: str
    shape: str
    sharding: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that is new in a compilation.

    Attributes:
        kind: "argument shape", "argument type", "argument sharding", "number of arguments", "donated",
            "result shape", "constants", "program", "flag", "compile option", or "nothing".
        what: the argument, flag or option; for the program what changed in it.
        was, now: its values, "" where there was or is none.
    """

    kind: str
    what: str = ""
    was: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class Compilation:
    """One compilation of a function.

    Attributes:
        module: its files.
        state: FINISHED, UNFINISHED (a stage before the optimizations and none after them) or CACHED (only that stage).
        reasons: what is new against the compilation before; none for the first.
        same_as: the number of the earliest compilation of the same program and options, None where there is none.
        problem: why it could not be read, "" where it could.
    """

    module: Module
    state: str
    reasons: tuple[Reason, ...] = ()
    same_as: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """The compilations of one function, in order."""

    name: str
    compilations: tuple[Compilation, ...]


@dataclass(frozen=True, slots=True)
class _Program:
    """What a compilation is told by."""

    text: Text
    arguments: tuple[Argument, ...]
    result: str
    donated: str
    flags: dict[str, str]
    options: dict[str, str]
    token: Token

    @property
    def sign(self) -> object:
        """Equal where the program and its options are."""
        flags = tuple(sorted((*self.flags.items(), *self.options.items())))
        return self.token, self.arguments, self.donated, flags


def functions(listing: Listing) -> Iterator[Function]:
    """The functions of a dump with their compilations; two of these are in memory at a time."""
    groups: dict[str, list[Module]] = defaultdict(list)
    for module in listing.catalog.modules:
        if readable_stages(module):
            groups[canonical(module.name)].append(module)
    for modules in groups.values():
        modules.sort(
            key=lambda module: (module.timestamp or 0, module.key.group, module.id or 0, module.mtime_ns)
        )
        yield Function(modules[0].name, tuple(_compilations(listing, modules)))


def _compilations(listing: Listing, modules: list[Module]) -> Iterator[Compilation]:
    reader, interner = Reader(), Interner()
    before: _Program | None = None
    seen: dict[object, int | None] = {}
    for module in modules:
        state = state_of(module)
        if len(modules) == 1:
            yield Compilation(module, state)
            return
        try:
            program = _program(listing, module, reader, interner)
        except HloTuiError as error:
            yield Compilation(module, state, problem=error.title)
            continue
        # What the optimizer left is no measure for what it was given.
        known = state != CACHED
        reasons = tuple(_reasons(before, program)) if before is not None and known else ()
        yield Compilation(module, state, reasons, seen.get(program.sign) if known else None)
        if known:
            seen.setdefault(program.sign, module.id)
            before = program


def state_of(module: Module) -> str:
    """Whether a compilation was finished, as far as its files tell."""
    kinds = {stage.point.kind for stage in module.stages}
    if "after" not in kinds:
        # Where stages without a pass were not asked for, none of them is missing.
        return UNFINISHED if "before" in kinds else FINISHED
    only = all(stage.label == "after_optimizations" for stage in module.stages)
    return CACHED if only else FINISHED


def _program(listing: Listing, module: Module, reader: Reader, interner: Interner) -> _Program:
    text = Text(open_stage(listing, readable_stages(module)[0]), reader)
    entry = text.entry
    token: Token = ("empty",)
    if entry is not None:
        token = Contents(text, frozenset(), interner).token(entry.name)
    header = {key: value for key, _, value in _header_parts(text)}
    donated = " ".join(header[key] for key in ("input_output_alias", "buffer_donor") if key in header)
    return _Program(
        text,
        tuple(_arguments(text)),
        _result(text),
        donated,
        _settings(listing, module, "debug-options"),
        _settings(listing, module, "compile-options"),
        token,
    )


def _header_parts(text: Text) -> Iterator[tuple[str, str, str]]:
    for part in split_top(text.outline.header.attributes):
        key, equals, value = part.partition("=")
        yield key.strip(), equals, value.strip()


def _arguments(text: Text) -> list[Argument]:
    entry = text.entry
    if entry is None:
        return []
    numbered = []
    for place, row in enumerate(entry.rows):
        parsed = entry.parsed(place) if b" parameter(" in row else None
        number = number_of(parsed.value) if parsed is not None and parsed.opcode == "parameter" else None
        if parsed is not None and number is not None:
            name = str(parse_metadata(parsed.notes.get(METADATA, "")).get("op_name", "")) or parsed.name
            shape, _ = parse_shape(parsed.shape)
            sharding = parsed.notes.get("sharding", "")
            numbered.append((number, Argument(name, shape.dtype, parsed.shape, sharding)))
    return [argument for _, argument in sorted(numbered, key=lambda one: one[0])]


def _result(text: Text) -> str:
    entry = text.entry
    place = None if entry is None else entry.index.get(entry.root)
    parsed = None if entry is None or place is None else entry.parsed(place)
    return "" if parsed is None else parsed.shape


def _settings(listing: Listing, module: Module, kind: str) -> dict[str, str]:
    """The settings in a side file in text form: the path of each field and its values."""
    settings: dict[str, list[str]] = defaultdict(list)
    for file in module.others:
        if file.name.kind == kind and not file.path.endswith(".pb"):
            path: list[str] = []
            for line in _lines(listing, file):
                if line.endswith("{"):
                    path.append(line[:-1].strip(" :"))
                elif line == "}":
                    path = path[:-1]
                elif ":" in line:
                    key, _, value = line.partition(":")
                    settings[".".join([*path, key.strip()])].append(value.strip())
    return {
        key: ", ".join(values)
        for key, values in settings.items()
        if not key.rpartition(".")[2].startswith(_OF_NO_EFFECT)
    }


def _lines(listing: Listing, file: File) -> list[str]:
    source: FileSource | SpanSource
    try:
        source = FileSource(path_of(listing, file))
    except HloTuiError:
        # It went away: then nothing is known of it.
        return []
    if file.span is not None:
        source = SpanSource(source, file.span[0], sum(file.span), file.path)
    text = source.read(0, min(source.size, _LONGEST_FILE)).decode("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _reasons(old: _Program, new: _Program) -> Iterator[Reason]:
    found = [*_argument_reasons(old.arguments, new.arguments)]
    if not found and old.result != new.result:
        found.append(Reason(_RESULT, "", old.result, new.result))
    if old.donated != new.donated:
        found.append(Reason(_DONATED, "", old.donated, new.donated))
    found += _setting_reasons(_FLAG, old.flags, new.flags)
    found += _setting_reasons(_OPTION, old.options, new.options)
    if old.token != new.token and not any(
        reason.kind in (_SHAPE, _TYPE, _COUNT, _RESULT) for reason in found
    ):
        found += _program_reasons(old.text, new.text)
    yield from found or [Reason(_NOTHING)]


def _argument_reasons(old: Sequence[Argument], new: Sequence[Argument]) -> Iterator[Reason]:
    if len(old) != len(new):
        yield Reason(_COUNT, "", str(len(old)), str(len(new)))
        return
    for number, (a, b) in enumerate(zip(old, new, strict=True)):
        what = f"{number} {b.name}"
        if a.shape != b.shape:
            yield Reason(_TYPE if a.dtype != b.dtype else _SHAPE, what, a.shape, b.shape)
        if a.sharding != b.sharding:
            yield Reason(_SHARDING, what, a.sharding, b.sharding)


def _setting_reasons(kind: str, old: dict[str, str], new: dict[str, str]) -> Iterator[Reason]:
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            yield Reason(kind, key, old.get(key, ""), new.get(key, ""))


def _program_reasons(old: Text, new: Text) -> Iterator[Reason]:
    diff = Comparison(old, new).run()
    values = [change for change in diff.modified if change.what == (VALUE,)]
    changed = [change for change in diff.modified if VALUE in change.what or change.own]
    if values and len(values) == len(changed) and not diff.added and not diff.removed:
        names = ", ".join(change.b.name for change in values[:3])
        yield Reason(
            _CONSTANTS,
            names,
            values[0].details[0].partition(" → ")[0],
            values[0].details[0].rpartition(" → ")[2],
        )
    else:
        yield Reason(_PROGRAM, f"+{len(diff.added)} -{len(diff.removed)} ~{len(diff.modified)} instructions")


def to_json(found: list[Function]) -> dict[str, Any]:
    """The functions as `recompiles --json` gives them."""
    return {
        "functions": [
            {
                "name": function.name,
                "compilations": [
                    {
                        "id": one.module.id,
                        "state": one.state,
                        "changed": [
                            {"kind": reason.kind, "what": reason.what, "was": reason.was, "now": reason.now}
                            for reason in one.reasons
                        ],
                        "same_as": one.same_as,
                        "problem": one.problem or None,
                    }
                    for one in function.compilations
                ],
            }
            for function in found
        ]
    }


def to_text(found: list[Function]) -> str:
    """The functions that were compiled more than once, for people, and what is odd with the others."""
    lines: list[str] = []
    for function in sorted(found, key=lambda function: -len(function.compilations)):
        odd = any(one.state != FINISHED for one in function.compilations)
        if len(function.compilations) > 1 or odd:
            count = count_text(len(function.compilations), "compilation")
            lines += [f"{function.name}   {count}", *map(_line, function.compilations), ""]
    once = sum(len(function.compilations) == 1 for function in found)
    lines.append(f"{count_text(once, 'function')} compiled once")
    return "\n".join(visible(line) for line in lines)


def _line(one: Compilation) -> str:
    number = "" if one.module.id is None else f"#{one.module.id}"
    return f"  {number:<6} {words_of(one)}"


def words_of(one: Compilation) -> str:
    """Why it was compiled, and what is odd with it, in words."""
    parts = [_words(reason) for reason in one.reasons]
    if one.state != FINISHED:
        parts.append(one.state)
    if one.same_as is not None and one.same_as != one.module.id:
        parts.append(f"the same as #{one.same_as}")
    return "; ".join([*parts, one.problem]).strip("; ") or "first"


def _words(reason: Reason) -> str:
    if reason.kind == _NOTHING:
        return (
            "nothing changed in arguments, program, flags or options: the cache key of the framework differs"
        )
    if reason.kind == _PROGRAM:
        return f"another program: {reason.what}"
    what = f"{reason.kind} {reason.what}".strip()
    return f"{what}: {reason.now[:60] or 'none'}, was {reason.was[:60] or 'none'}"
