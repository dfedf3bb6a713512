"""Takes HLO text line by line and tells where headers, computations and instructions begin and end."""

from __future__ import annotations

import re
from typing import Protocol

from hlo_tui.hlo.attributes import CALL_ATTRIBUTES
from hlo_tui.hlo.kinds import LOG_PREFIX

TABLES = (b"FileNames", b"FunctionNames", b"FileLocations", b"StackFrames")

# `name =` with a blank: `name=` is an attribute, `%name=` can only be an instruction.
_DEFINITION = rb"(?:ROOT\s++)?+(?:%[\w.\-\x80-\xff]++\s*+=|[A-Za-z_][\w.\-\x80-\xff]*+\s++=)(?!=)"
_AT_DEFINITION = re.compile(_DEFINITION)
# At the top level a definition must go on with a shape or an opcode: a log line may also hold `name = value`.
_FRAGMENT = re.compile(_DEFINITION + rb"\s*+(?:\(|[a-z]\w*+\[|[a-z][\w\-]*+\()")
_AT_HEAD = re.compile(rb"(ENTRY\s++)?+%?([A-Za-z_][\w.\-\x80-\xff]*+)[\s\0]*+")
_LOG_FIRST = frozenset((b"I", b"W", b"E", b"F", b"2"))
_LOG = re.compile(LOG_PREFIX)
_BLANKS = re.compile(rb"[\s\0]*+")
_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_RESULT = re.compile(rb"[({]|[a-z]\w*+\[")
# What XLA writes as `/*index=5*/` was cut off here; other comments may well go on over many lines.
_CUT_COMMENT = re.compile(rb"index=\d*\Z|(?:i|in|ind|inde|index)\Z")
_LAYOUT = re.compile(rb"\]\{[\d:}*?]")
_NESTED = re.compile(rb"(?:%s)\s*=\s*\Z" % "|".join(CALL_ATTRIBUTES).encode())
_TOKEN = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|"|' + rb"'(?:[^'\\\"]|\\.){0,256}+'|/\*(?:[^*]|\*(?!/))*+\*/|/\*|//|->"
    rb"|[()\[\]{}]|(?<![\w.\-\x80-\xff%#])" + _DEFINITION,
    re.S,
)
_OPENING = frozenset((b"(", b"[", b"{"))
_CLOSING = frozenset((b")", b"]", b"}"))
_ROUND = ord("(")
# Beside brackets themselves: the brace of a computation, and one that may turn out to hold a nested one.
_COMPUTATION = b"computation"
_CALLS = b"calls"
_TOP, _HEADER, _HEAD, _BODY = range(4)
_DEEPEST = 100
_LOOK_BACK = 8


class Receiver(Protocol):
    """Told what the machine finds; lines from 0, columns in bytes."""

    def header(self, line: int, text: bytes, /) -> None:
        """One more line of the module's header."""

    def table(self, line: int, keyword: bytes, /) -> None:
        """A line that begins one of the `TABLES`."""

    def opened(self, line: int, column: int, name: bytes, entry: bool, nested: bool, /) -> None:
        """A computation begins; one without a name is nested in an instruction or has lost its head."""

    def instruction(self, line: int, column: int, /) -> None:
        """An instruction of the innermost open computation begins."""

    def closed(self, line: int, column: int, /) -> None:
        """The innermost open computation ends; `column` is that of its brace."""


class Structure:
    """The machine. It never gives up: a line that begins an instruction, or without indentation a
    computation, ends whatever damage is before it."""

    def __init__(self, receiver: Receiver) -> None:
        self._to = receiver
        self._mode = _TOP
        self._stack: list[bytes] = []
        self._in_string = self._in_comment = self._cut_comment = False
        self._head = (0, 0, b"", False)
        self._head_brackets = self._head_arrow = False
        self._brace = (0, 0)
        self._first = 0
        self._tail = b""

    @property
    def clean(self) -> bool:
        """Whether nothing is open but perhaps one computation that is not nested."""
        if self._in_string or self._in_comment:
            return False
        return self._mode == _TOP or (self._mode == _BODY and self._stack == [_COMPUTATION])

    def skip(self, in_body: bool, last: bytes = b"") -> None:
        """Go on, clean, after lines read by other means; `in_body`: one is open after the `last`."""
        self._mode = _BODY if in_body else _TOP
        self._stack = [_COMPUTATION] if in_body else []
        self._tail = last[-32:]

    def feed(self, number: int, line: bytes, ended: bool = True) -> None:
        """Take the next line, without its newline; of a very long one, not `ended`, its first part."""
        begin = log_prefix(line)
        at = _skip_blanks(line, begin)
        if at == len(line):
            return
        self._first = at
        if self._mode == _HEAD and not (self._stack or self._in_comment or self._goes_on(line, at)):
            self._mode = _TOP
        if self._mode != _TOP and self._restarts(line, at, at == begin):
            self.finish(number - 1)
        elif self._mode == _BODY and self._ordinary(number, line, at):
            return
        self._follow(number, line, at)
        self._end_line(number, line[begin:], ended)

    def feed_more(self, number: int, part: bytes, ended: bool) -> None:
        """Take a further part of the line last fed."""
        self._first = 0
        if self._mode != _TOP:
            self._follow(number, part, 0)
            self._end_line(number, part, ended)

    def _follow(self, number: int, line: bytes, at: int) -> None:
        while 0 <= at < len(line):
            if self._mode == _TOP:
                at = self._top(number, line, _skip_blanks(line, at))
            else:
                at = self._scan(number, line, at)

    def finish(self, line: int) -> None:
        """End everything that is open; `line` is the last line there is."""
        for bracket in reversed(self._stack):
            if bracket == _COMPUTATION:
                self._to.closed(line, -1)
        self._stack = []
        self._in_string = self._in_comment = False
        self._mode = _TOP

    def _goes_on(self, line: bytes, at: int) -> bool:
        """Whether a line can follow a head that has no open brackets and not yet its brace."""
        if self._head_arrow:
            return _RESULT.match(line, at) is not None
        return line.startswith(b"->" if self._head_brackets else (b"{", b"("), at)

    def _restarts(self, line: bytes, at: int, unindented: bool) -> bool:
        """Whether a line can only be at the top level although something is open."""
        if self._mode == _HEAD:
            return _FRAGMENT.match(line, at) is not None or (unindented and whole_head(line, at) is not None)
        if not unindented or (self._in_comment and not self._cut_comment):
            return False
        if line.startswith(b"HloModule ", at):
            return True
        if self._mode == _HEADER and line[at : at + 64].strip() in TABLES:
            return True
        return whole_head(line, at) is not None

    def _ordinary(self, number: int, line: bytes, at: int) -> bool:
        """Deal with the usual line of a body, a complete instruction; otherwise make ready to scan it."""
        if self._in_comment and not self._cut_comment:
            return False
        definition = _AT_DEFINITION.match(line, at)
        if definition is None:
            if self._in_string and line.strip() == b"}" == line[:1]:
                self._resume()
            return False
        self._resume()
        if self._stack[-1] == _COMPUTATION and complete(line) and line.find(b" = ", definition.end()) < 0:
            self._to.instruction(number, at)
            self._tail = line[-32:]
            return True
        return False

    def _resume(self) -> None:
        """What is open inside of the computation is damage: drop it."""
        self._in_string = self._in_comment = False
        while self._stack[-1] not in (_COMPUTATION, _CALLS):
            self._stack.pop()

    def _top(self, number: int, line: bytes, at: int) -> int:
        """Look at the top level; gives where to scan on, or -1 to leave the line."""
        if line.startswith(b"HloModule", at) and line[at + 9 : at + 10].isspace():
            self._mode = _HEADER
            return at
        keyword = line[at : at + 64].strip()
        if keyword in TABLES:
            self._to.table(number, keyword)
            return -1
        if _FRAGMENT.match(line, at):
            self._to.opened(number, at, b"", False, False)
            self.skip(True)
            return at
        match = _AT_HEAD.match(line, at)
        if match is None or line[match.end() : match.end() + 1] not in (b"(", b"{", b""):
            return -1
        self._mode = _HEAD
        self._head = (number, at, match[2], match[1] is not None)
        self._head_brackets = self._head_arrow = False
        return match.end()

    def _end_line(self, number: int, line: bytes, ended: bool) -> None:
        if self._mode == _BODY:
            self._tail = line.rstrip()[-32:]
        elif self._mode == _HEADER:
            self._to.header(number, line)
            inside = self._stack or self._in_string or self._in_comment
            if ended and not inside and not line.rstrip().endswith(b","):
                self._mode = _TOP
        elif self._mode == _HEAD:
            self._in_string = False

    def _scan(self, number: int, line: bytes, at: int) -> int:
        """Follow brackets, strings and comments from `at`; gives where the top level was reached, or -1."""
        if self._in_string or self._in_comment:
            at = self._leave(line, at)
            if at < 0:
                return -1
        for match in _TOKEN.finditer(line, at):
            token = match.group()
            if token in _OPENING:
                self._open(number, line, token, match.start())
            elif token in _CLOSING:
                self._close(number, token, match.start())
                if self._mode == _TOP:
                    return match.end()
            elif token == b'"':
                self._in_string = True
                return -1
            elif token == b"/*":
                self._in_comment = True
                cut = _CUT_COMMENT.match(line, match.end()) is not None
                self._cut_comment = cut or self._mode != _BODY
                return -1
            elif token == b"//":
                return -1
            elif token == b"->":
                self._head_arrow = True
            elif token[-1:] == b"=":
                self._define(number, match.start())
        return -1

    def _leave(self, line: bytes, at: int) -> int:
        """Where the string or comment that began on an earlier line ends, or -1."""
        if self._in_comment:
            end = line.find(b"*/", at) + 2
            found = end > 1
        else:
            match = _STRING_REST.match(line, at)
            found = match is not None
            end = match.end() if match else -1
        if not found:
            return -1
        self._in_string = self._in_comment = False
        return end

    def _open(self, number: int, line: bytes, token: bytes, at: int) -> None:
        if self._mode == _HEAD and not self._stack:
            begins = token == b"{" and (self._head_arrow or not self._head_brackets)
            if begins and not _LAYOUT.match(line, at - 1):
                self._to.opened(*self._head, False)
                self.skip(True)
                return
            self._head_brackets = True
        if self._mode == _BODY and token == b"{" and self._stack[-1] == _COMPUTATION:
            before = line[max(self._first, at - 64) : at]
            if _NESTED.search(before if before.strip() else self._tail):
                self._brace = (number, at)
                token = _CALLS
        if len(self._stack) < _DEEPEST:
            self._stack.append(token)

    def _close(self, number: int, token: bytes, at: int) -> None:
        stack = self._stack
        if token == b"}":
            while stack:
                bracket = stack.pop()
                if bracket == _COMPUTATION:
                    self._to.closed(number, at)
                    if not stack:
                        self._mode = _TOP
                if bracket in (_COMPUTATION, _CALLS, b"{"):
                    return
            return
        opening = b"(" if token == b")" else b"["
        for depth in range(1, min(_LOOK_BACK, len(stack)) + 1):
            if stack[-depth] == opening:
                del stack[-depth:]
                return
            if stack[-depth] in (_COMPUTATION, _CALLS, b"{"):
                return

    def _define(self, number: int, at: int) -> None:
        if self._mode != _BODY or self._stack[-1] not in (_COMPUTATION, _CALLS):
            return
        if self._stack[-1] == _CALLS:
            self._stack[-1] = _COMPUTATION
            self._to.opened(*self._brace, b"", False, True)
        self._to.instruction(number, at)


def log_prefix(line: bytes) -> int:
    """How many bytes of a line are the prefix of a log (`I0101 10:00:00.123456 7 file.cc:89] `)."""
    if line[:1] not in _LOG_FIRST:
        return 0
    match = _LOG.match(line)
    return match.end() if match else 0


def head_name(line: bytes) -> bytes:
    """The name in the line that begins a computation, b"" where there is none."""
    match = _AT_HEAD.match(line, _skip_blanks(line, log_prefix(line)))
    return match[2] if match else b""


def _skip_blanks(line: bytes, at: int) -> int:
    match = _BLANKS.match(line, at)
    return match.end() if match else at


def whole_head(line: bytes, at: int = 0) -> re.Match[bytes] | None:
    """The match of a line that alone, from `at`, is a head: ENTRY or None in group 1, the name in group 2."""
    line = line.rstrip()
    if line[-1:] != b"{":
        return None
    match = _AT_HEAD.match(line, at)
    if match is None:
        return None
    end = match.end()
    return match if end == len(line) - 1 or (line[end] == _ROUND and b"->" in line) else None


def complete(line: bytes) -> bool:
    """Whether the brackets and quotes of a line pair up, as far as their numbers say."""
    return (
        line.count(b"(") == line.count(b")")
        and line.count(b"{") == line.count(b"}")
        and line.count(b'"') % 2 == 0
        and line.count(b"/*") == line.count(b"*/")
    )
