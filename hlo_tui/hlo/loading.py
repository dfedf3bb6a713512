"""Opening a file as HLO, whatever form it has: text to look at, or a proto to run."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError, Message

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds
from hlo_tui.hlo.members import Member, choose, find_members, several
from hlo_tui.hlo.printing import print_module
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.snapshots import cut_off, read_container
from hlo_tui.hlo.source import BytesSource, FileSource, Source, SpanSource
from hlo_tui.hlo.text_protos import parse_text
from hlo_tui.hlo.visible import visible
from hlo_tui.hlo.wire import fields, is_cut_off

_HEAD = 64 * 1024
# Protobuf takes no message of 2 GiB or more.
_LARGEST_PROTO = 2**31 - 1
_CHUNK = 1 << 20
# A gzip file that unpacks to so many times its size, and is not small, was made to fill the memory.
_LARGEST_RATIO = 200
_SMALL = 128 << 20

# The field of an unoptimized snapshot that a HloProto, which begins alike, does not have.
_PARTITIONS = 2
_LONGEST_REASON = 300
_SNAPSHOT_TEXT = re.compile(rb"^hlo\b", re.MULTILINE)
_MODULE_TEXT = re.compile(rb"^hlo_module\b", re.MULTILINE)
_ASSIGNMENT_TEXT = re.compile(rb"^buffer_assignment\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """HLO text that can be read.

    Attributes:
        source: the text: the file itself, a part of it, or what was printed from a proto.
        kind: what the file is, one of the kinds of `kinds`.
        note: what a person should know of how the text came about; empty for a plain text file.
        members: what the file is made of where it holds several modules.
    """

    source: Source
    kind: str
    note: str = ""
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedProto:
    """A module with what its file says beside it.

    Attributes:
        kind: one of the kinds of `kinds`.
        module: with at least one computation.
        arguments: of one run, for each partition; empty where the file records none.
        result: of that run.
        platform: that it ran on; empty where it is not told.
        buffer_assignment: where the file has one.
    """

    kind: str
    module: pb.HloModuleProto
    arguments: tuple[tuple[pb.LiteralProto, ...], ...] = ()
    result: pb.LiteralProto | None = None
    platform: str = ""
    buffer_assignment: pb.BufferAssignmentProto | None = None


def open_document(path: str | os.PathLike[str], member: str | None = None) -> Document:
    """Open a file as HLO text.

    Args:
        path: of text, a stdout dump, or any proto that holds a module, packed with gzip or not.
        member: name or number (from 1) of a module inside a text file; None for the first one. A proto has
            one.

    Raises:
        HloTuiError: it cannot be read, is cut off, or holds no HLO; the error says which.
    """
    source = open_bytes(path)
    kind = kinds.sniff(source.read(0, _HEAD), Path(source.name).name)
    if kind in (kinds.TEXT, kinds.UNKNOWN_TEXT):
        return _open_text(source, kind, member)
    loaded = _load(source, kind)
    if member not in (None, "1", loaded.module.name):
        choose((), member, visible(source.name))
    printed = print_module(loaded.module)
    note = f"printed from a proto ({loaded.kind})"
    if printed.unknown_fields:
        note += f", unknown fields: {printed.unknown_fields}"
    return Document(BytesSource(printed.text, source.name), loaded.kind, note)


def read_proto(path: str | os.PathLike[str]) -> LoadedProto:
    """Read a file that holds a module as a proto, with the arguments and the result that it may record.

    Args:
        path: of a HloProto, HloModuleProto, HloSnapshot or unoptimized snapshot, in binary or text form,
            packed with gzip or not.

    Raises:
        HloTuiError: it cannot be read, is cut off, or holds no module.
    """
    source = open_bytes(path)
    return _load(source, kinds.sniff(source.read(0, _HEAD), Path(source.name).name))


def is_proto(path: str | os.PathLike[str]) -> bool:
    """Whether a file is to be read with `read_proto`: it is no HLO text, and no other text.

    Raises:
        HloTuiError: it cannot be opened.
    """
    source = open_bytes(path)
    kind = kinds.sniff(source.read(0, _HEAD), Path(source.name).name)
    return kind not in (kinds.TEXT, kinds.UNKNOWN_TEXT)


def open_bytes(path: str | os.PathLike[str]) -> Source:
    """Open a file's bytes, unpacked where they are packed with gzip.

    Raises:
        HloTuiError: it cannot be opened, is a directory, or cannot be unpacked.
    """
    if os.path.isdir(path):
        raise HloTuiError("This is a directory", visible(os.fspath(path)), "Give one of the files in it.")
    source = FileSource(path)
    if kinds.sniff(source.read(0, _HEAD)) == kinds.GZIP:
        return BytesSource(_unpack(source), source.name)
    return source


def _unpack(source: Source) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    pieces = []
    size = offset = 0
    while not unpacker.eof:
        packed = unpacker.unconsumed_tail or source.read(offset, _CHUNK)
        if not packed:
            raise cut_off(source.name, source.size)
        if not unpacker.unconsumed_tail:
            offset += len(packed)
        try:
            piece = unpacker.decompress(packed, _CHUNK)
        except zlib.error as error:
            raise HloTuiError("The gzip file is damaged", f"{visible(source.name)}: {error}") from error
        pieces.append(piece)
        size += len(piece)
        if size > _LARGEST_PROTO or (size > _SMALL and size > _LARGEST_RATIO * source.size):
            message = f"{visible(source.name)}: more than {size:,} bytes from {source.size:,}"
            raise HloTuiError("The gzip file unpacks to too much", message)
    return b"".join(pieces)


def _open_text(source: Source, kind: str, member: str | None) -> Document:
    if kind == kinds.TEXT and member is None and not several(source.read(0, _HEAD)):
        return Document(source, kind)
    members = find_members(source)
    if kind == kinds.UNKNOWN_TEXT and not any(one.is_module for one in members):
        raise _other_kind(source, kind)
    if member is None and len(members) < 2 and kind == kinds.TEXT:
        return Document(source, kind, members=members)
    one = choose(members, member, visible(source.name))
    note = f"{visible(one.name)}, {members.index(one) + 1} of {len(members)} in this file"
    span = SpanSource(source, one.start, one.end, one.name)
    held = kinds.sniff(span.read(0, _HEAD), one.name)
    if held not in (kinds.TEXT, kinds.UNKNOWN_TEXT):
        raise _other_kind(span, held)
    return Document(span, kinds.TEXT, note, members)


def _other_kind(source: Source, kind: str) -> HloTuiError:
    return HloTuiError(
        "Not HLO",
        f"{visible(source.name)} is {kind}",
        "HLO is in the .txt, .hlo and .hlo.pb files of a dump and in its snapshots.",
    )


def _load(source: Source, kind: str) -> LoadedProto:
    name = visible(source.name)
    if kind == kinds.EMPTY:
        raise HloTuiError("The file is empty", name, "Is it still being written?")
    if kind == kinds.CONTAINER:
        return _checked(_unoptimized(read_container(source)), name)
    if kind not in (*_FORMS, kinds.TEXT_PROTO, kinds.BINARY):
        raise _other_kind(source, kind)
    if source.size > _LARGEST_PROTO:
        raise HloTuiError(
            "The proto is too large", f"{name}: {source.size:,} bytes; a proto has less than 2 GiB"
        )
    data = source.read(0, source.size)
    if kind == kinds.TEXT_PROTO:
        return _checked(_from_text(data, name), name)
    for form in _likely_forms(data, kind):
        loaded = _parse(form, data)
        if loaded is not None and _has_code(loaded.module):
            return loaded
    if is_cut_off(data):
        raise cut_off(name, source.size)
    raise _no_module(name)


def _no_module(name: str) -> HloTuiError:
    return HloTuiError(
        "No HLO module in the file",
        f"{name}: nothing in it reads as a computation",
        "It may be another kind of proto, or damaged.",
    )


def _checked(loaded: LoadedProto, name: str) -> LoadedProto:
    if not _has_code(loaded.module):
        raise _no_module(name)
    return loaded


def _has_code(module: pb.HloModuleProto) -> bool:
    return any(computation.instructions for computation in module.computations)


def _hlo_proto(proto: pb.HloProto) -> LoadedProto:
    assignment = proto.buffer_assignment if proto.HasField("buffer_assignment") else None
    return LoadedProto(kinds.HLO_PROTO, proto.hlo_module, buffer_assignment=assignment)


def _module_proto(module: pb.HloModuleProto) -> LoadedProto:
    return LoadedProto(kinds.MODULE_PROTO, module)


def _snapshot(snapshot: pb.HloSnapshot) -> LoadedProto:
    inner = _hlo_proto(snapshot.hlo)
    return LoadedProto(
        kinds.SNAPSHOT,
        inner.module,
        (tuple(snapshot.arguments),),
        snapshot.result if snapshot.HasField("result") else None,
        snapshot.execution_platform,
        inner.buffer_assignment,
    )


def _unoptimized(snapshot: pb.HloUnoptimizedSnapshot) -> LoadedProto:
    arguments = tuple(tuple(partition.arguments) for partition in snapshot.partitions)
    return LoadedProto(kinds.UNOPTIMIZED, snapshot.hlo_module, arguments)


_FORMS: dict[str, tuple[type[Message], Callable[[Any], LoadedProto]]] = {
    kinds.HLO_PROTO: (pb.HloProto, _hlo_proto),
    kinds.MODULE_PROTO: (pb.HloModuleProto, _module_proto),
    kinds.SNAPSHOT: (pb.HloSnapshot, _snapshot),
    kinds.UNOPTIMIZED: (pb.HloUnoptimizedSnapshot, _unoptimized),
}


def _likely_forms(data: bytes, kind: str) -> tuple[str, ...]:
    if kind == kinds.HLO_PROTO and any(number == _PARTITIONS for number, _, _ in fields(data)):
        kind = kinds.UNOPTIMIZED
    return (kind, *(form for form in _FORMS if form != kind)) if kind in _FORMS else tuple(_FORMS)


def _parse(form: str, data: bytes) -> LoadedProto | None:
    message, loaded = _FORMS[form]
    parsed = message()
    try:
        parsed.ParseFromString(data)
    except DecodeError:
        return None
    return loaded(parsed)


def _from_text(data: bytes, name: str) -> LoadedProto:
    form = kinds.MODULE_PROTO
    if _SNAPSHOT_TEXT.search(data):
        form = kinds.SNAPSHOT
    elif _MODULE_TEXT.search(data):
        form = kinds.HLO_PROTO if _ASSIGNMENT_TEXT.search(data) else kinds.UNOPTIMIZED
    message, loaded = _FORMS[form]
    try:
        parsed = parse_text(data, message())
    except ValueError as error:
        reason = visible(str(error))[:_LONGEST_REASON]
        raise HloTuiError(
            "The text proto is damaged", f"{name}: {reason}", "Is it still being written?"
        ) from error
    return loaded(parsed)
