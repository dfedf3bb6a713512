"""What a file holds, told from its name and its first bytes."""

from __future__ import annotations

import re

from hlo_tui.hlo.wire import varint

TEXT = "text"
HLO_PROTO = "hlo proto"
MODULE_PROTO = "hlo module proto"
SNAPSHOT = "hlo snapshot"
UNOPTIMIZED = "unoptimized snapshot"
CONTAINER = "unoptimized snapshot container"
TEXT_PROTO = "text proto"
GZIP = "gzip"
EMPTY = "empty file"
UNKNOWN_TEXT = "text that is not known here"
BINARY = "binary data that is not known here"

# What stands before the text of a line that went through the log of a job.
LOG_PREFIX = (
    rb"(?:(?:[IWEF]\d{4} |\d{4}-\d\d-\d\d[ T])[\d:.,]{8,24}(?:: [IWEF])?"
    rb" [^\]\n]{0,200}?\.\w{1,3}:\d{1,6}\] ?)?"
)

_HLO_TEXT = re.compile(
    rb"^" + LOG_PREFIX + rb"(?:HloModule[ ,\r\n]|\*\*\* Begin |ENTRY %?[\w.-]{1,512} "
    rb"|[ \t]{0,32}(?:ROOT )?%?[\w.-]{1,512} ?= ?\(?[a-z][a-z0-9]{1,15}\[[\d,<=? ]{0,512}\]"
    # Without its shape, as people shorten it, only the percent sign tells it from other languages.
    rb"|[ \t]{0,32}(?:ROOT )?%[\w.-]{1,512} ?= ?[a-z][a-z0-9-]{1,63}\()",
    re.MULTILINE,
)
_TEXT_PROTO = re.compile(
    rb"(?:hlo_module|hlo|computations|name|entry_computation_name|partitions)[ \t]{0,8}[:{<]"
)
# How the first line that is no comment begins in what lies beside HLO in a dump, and what to call it.
_OTHERS = (
    (rb"source_filename|target triple|target datalayout|define ", "LLVM IR text"),
    (rb"module(?: @|[ \n]{0,8}\{| attributes)|builtin\.module|!\w{1,64} =|func\.func", "MLIR text"),
    (rb"(?i:<!doctype html|<html)", "an html page"),
    (rb"(?:strict )?digraph\b", "a Graphviz graph"),
    (rb"\.version \d", "PTX text"),
    (rb"BufferAssignment:", "a buffer assignment"),
    (rb"Memory [Ss]pace|Total bytes used", "a memory usage report"),
    (rb"HloLiveRange", "a list of live ranges"),
    (rb"\{ lambda\b", "a jaxpr"),
    (rb"Error rendering graph", "the error of a graph that could not be drawn"),
    (rb"Failed to serialize", "the error of a proto that XLA could not write"),
)
_MAGIC = (
    (b"\x7fELF", "object code"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x93NUMPY", "a numpy array"),
    (b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", "a riegeli file"),
)
_OTHER_KINDS = tuple((re.compile(pattern), words) for pattern, words in _OTHERS)
# Comments that tell the kind.
_TELLING = ((b"; ModuleID", "LLVM IR text"), (b"#loc", "MLIR text"), (b"#map", "MLIR text"))

_NAMES = (
    (re.compile(r"hlo_unoptimized_snapshot\.pb$"), CONTAINER),
    (re.compile(r"(?:hlo_snapshot|\.snapshot\.-?\d+)\.pb$"), SNAPSHOT),
    (re.compile(r"\.hlo\.pb$"), HLO_PROTO),
)


_NESTED = {1: MODULE_PROTO, 2: HLO_PROTO, 3: SNAPSHOT}
_FIRST_FIELD = b"\n"
_LONGEST_NAME = 1 << 16
# What no text has: control characters but for whitespace and the escape that starts a colour.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def sniff(head: bytes, name: str = "") -> str:
    """Tell what a file holds.

    Args:
        head: its first bytes, 64 KiB or so; of a gzip file the unpacked ones tell more.
        name: its name, which decides between binary protos that look alike.

    Returns:
        One of the kinds above, or in words what the file is, such as "LLVM IR text".
    """
    if not head:
        return EMPTY
    if head.startswith(b"\x1f\x8b"):
        return GZIP
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return words
    if not _CONTROL.search(head):
        return _text_kind(head)
    found = _proto_kind(head, name.removesuffix(".gz"))
    return TEXT if found == BINARY and _HLO_TEXT.search(head) else found


def _text_kind(head: bytes) -> str:
    place = 0
    for line in head.splitlines(keepends=True):
        start = line.lstrip()
        for comment, words in _TELLING:
            if start.startswith(comment):
                return words
        if start and not start.startswith((b";", b"//", b"#")):
            place += len(line) - len(start)
            break
        place += len(line)
    for pattern, words in _OTHER_KINDS:
        if pattern.match(head, place):
            return words
    if _TEXT_PROTO.match(head, place):
        return TEXT_PROTO
    return TEXT if _HLO_TEXT.search(head) else UNKNOWN_TEXT


def _proto_kind(head: bytes, name: str) -> str:
    found = _NESTED.get(_depth_of_name(head, 0), BINARY)
    if found == BINARY and _depth_of_name(head, varint(head, 0)[1]) == 2:
        return CONTAINER
    if found == BINARY:
        return next((kind for pattern, kind in _NAMES if pattern.search(name)), BINARY)
    return found


def _depth_of_name(head: bytes, place: int) -> int:
    """How many messages deep the name of the module stands, following first fields; 0 where it is not found.

    The first field of a module is its name, of a proto a module, and of a snapshot a proto.
    """
    for depth in range(1, 4):
        if head[place : place + 1] != _FIRST_FIELD:
            return 0
        length, place = varint(head, place + 1)
        if head[place : place + 1] != _FIRST_FIELD:
            named = 0 < length <= _LONGEST_NAME and not _CONTROL.search(head[place : place + length])
            return depth if named else 0
    return 0
