"""The languages of the text files in a dump: how a line is coloured, what is an entry of the outline, and where a
name is defined. Each is a handful of patterns; every character of any line is in exactly one token."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from hlo_tui.formats.borrowed import borrowed
from hlo_tui.hlo.tokens import Role, Token
from hlo_tui.hlo.tokens import tokenize as tokenize_hlo

Tokenize = Callable[[str], list[Token]]


@dataclass(frozen=True, slots=True)
class Language:
    """How a language reads.

    Attributes:
        tokenize: cuts one line, without its newline, into tokens that cover it.
        marks: finds the entries of an outline in many lines. The name of the group that took part is the kind, what
            it holds the entry's name; the group `close` ends the innermost entry that is indented like it.
        levels: how deep a kind stands among the others.
        counted: finds what is counted, such as operations; its first group is the name.
        what: what these are called.
        definition: gives for a name on a line the pattern of the line that defines it, "" where none does.
    """

    tokenize: Tokenize
    marks: re.Pattern[bytes] | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    counted: re.Pattern[bytes] | None = None
    what: str = ""
    definition: Callable[[str], str] = lambda _: ""


def language(name: str) -> Language:
    """The language of this name; plain text where there is none."""
    return _LANGUAGES.get(name, _PLAIN)


def _table(*rows: tuple[Role, str]) -> Tokenize:
    """A tokeniser of patterns in the order in which they are tried; what none takes is text."""
    groups = "|".join(f"(?P<g{number}>{pattern})" for number, (_, pattern) in enumerate(rows))
    match = re.compile(rf"{groups}|(?P<rest>[^\s\w\"]|\s++|\w++|.)", re.S).match
    roles = {f"g{number}": role for number, (role, _) in enumerate(rows)} | {"rest": Role.TEXT}

    def tokenize(line: str) -> list[Token]:
        tokens: list[Token] = []
        at = 0
        while at < len(line):
            found = match(line, at)
            assert found is not None
            role = roles[found.lastgroup or "rest"]
            if role == Role.TEXT and not found[0].isspace():
                role = Role.PUNCTUATION if not found[0][0].isalnum() else Role.TEXT
            tokens.append(Token(at, found.end(), role))
            at = found.end()
        return tokens

    return tokenize


def _plain(line: str) -> list[Token]:
    return [Token(0, len(line), Role.TEXT)] if line else []


def _hlo(line: str) -> list[Token]:
    return tokenize_hlo(line)[0]


def _diff(line: str) -> list[Token]:
    role = {"+": Role.STRING, "-": Role.UNKNOWN, "@": Role.KEYWORD}.get(line[:1], Role.TEXT)
    return [Token(0, len(line), role)] if line else []


_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_NUMBER = r"(?<![\w.])-?(?:0x[0-9A-Fa-f]++|\d[\d_]*+(?:\.\d++)?+(?:[eE][+-]?\d++)?+)"
_SYMBOL = r'@(?:"[^"\n]*+"?|[\w$.\-]++(?:::@[\w$.\-]++)*+)'

_MLIR = _table(
    (Role.COMMENT, r"//[^\n]*+"),
    (Role.OPCODE, r'"[a-z_][\w$]*+\.[\w$.]++"(?=\()'),
    (Role.STRING, _STRING),
    (Role.DEFINITION, r"%[\w$.\-]++(?=(?::\d++)?(?:,\s?%[\w$.\-]++(?::\d++)?){0,32}\s{0,4}=(?!=))"),
    (Role.NAME, r"%[\w$.\-]++(?:#\d++)?"),
    (Role.COMPUTATION, rf"{_SYMBOL}|\^[\w$.\-]++"),
    (Role.METADATA, r"\bloc(?=\()|#loc\w*+"),
    (Role.NAME, r"#[\w$.]++"),
    (Role.SHAPE, r"\b(?:tensor|memref|vector|tuple|complex)<[^<>\"]{0,400}>|![\w$.]++"),
    (Role.SHAPE, r"\b(?:tensor|memref|vector|tuple|complex|index|none|bf16|f(?:16|32|64|[468]\w++)|[su]?i\d++)\b"),
    (Role.ATTRIBUTE, r"[A-Za-z_][\w$.]*+(?=\s{0,4}=(?!=))"),
    (Role.OPCODE, r"\b[a-z_][\w$]*+\.[\w$.]++"),
    (Role.KEYWORD, r"\b(?:module|attributes|public|private|func|return|dense|true|false|unit|applies|across|init|cond"
                   r"|do|else|callsite|fused|at|unknown|array|affine_map|affine_set|dense_resource|iter_args|to|step)\b"),
    (Role.NUMBER, _NUMBER),
)  # fmt: skip

_JAXPR = _table(
    (Role.STRING, r"'[^'\\]*+(?:\\.[^'\\]*+)*+'?|" + _STRING),
    (Role.COMMENT, r"\#[^\n]*+"),
    (Role.KEYWORD, r"\b(?:lambda|let|in)\b(?=[ \n;]|$)"),
    (Role.SHAPE, r"(?<=:)(?:[A-Za-z]\w*+(?:<[^<>]{0,200}>)?(?:\{[^{}]{0,200}\})?\[[^\[\]]{0,400}\]|[A-Za-z]\w*+)"),
    (Role.DEFINITION, r"\b[a-z]{1,6}\d{0,6}(?=:[A-Za-z])"),
    (Role.OPCODE, r"(?<== )[a-z_]\w*+"),
    (Role.ATTRIBUTE, r"[A-Za-z_]\w*+(?==)"),
    (Role.VALUE, r"(?<==)[A-Za-z_][\w.]*+"),
    (Role.NUMBER, r"(?<![\w.])-?\d[\w.]*+(?:[+-]\d++)?"),
    (Role.NAME, r"\b[a-z]{1,4}\b"),
)  # fmt: skip

_SASS = _table(
    (Role.COMMENT, r"/\*[^*\n]*+(?:\*/)?|//[^\n]*+"),
    (Role.COMPUTATION, r"\.(?:text|L|nv)[\w.$]*+|(?<=Function : )[\w.$]++|`\([^()]{0,400}\)"),
    (Role.KEYWORD, r"\.[a-z][\w.]*+|@!?U?P[T\d]"),
    (Role.NAME, r"\b(?:U?R(?:\d{1,3}|Z)|U?P(?:\d|T)|SR_[\w.]++|B\d{1,2}|SB\d)(?:\.[A-Za-z]\w*+)*+\b"),
    (Role.OPCODE, r"\b[A-Z][A-Z0-9]++(?:\.[A-Z0-9_]++)*+"),
    (Role.STRING, _STRING),
    (Role.NUMBER, _NUMBER),
)
_ASSEMBLY = _table(
    (Role.COMMENT, r"(?://|;|\#(?!\d)).*+"),
    (Role.COMPUTATION, r"^[\w.$@]++(?=:)"),
    (Role.STRING, _STRING),
    (Role.KEYWORD, r"(?<![\w$])\.[a-z_][\w.]*+"),
    (Role.NAME, r"%[a-z]\w*+|\b[vs]\[\d++:\d++\]|\b[vs]\d{1,3}\b"),
    (Role.NUMBER, r"\$?-?\b(?:0x[0-9a-fA-F]++|\d++)\b"),
    (Role.OPCODE, r"(?<=\t)[a-z][\w.]++|^ {2,16}[a-z]\w++"),
)
_PROTO = _table(
    (Role.COMMENT, r"\#.*+|//.*+"),
    (Role.STRING, _STRING + r"|'[^'\\]*+(?:\\.[^'\\]*+)*+'?"),
    (Role.ATTRIBUTE, r"\[[\w./]++\]|[A-Za-z_]\w*+(?=\s{0,4}[:{<])"),
    (Role.KEYWORD, r"\b(?:true|false|inf|nan)\b"),
    (Role.NUMBER, _NUMBER),
    (Role.VALUE, r"[A-Za-z_]\w*+"),
)
_LOG = _table(
    (
        Role.METADATA,
        r"^(?:[IWEF]\d{4} |\d{4}-\d\d-\d\d[ T])[\d:.,]{8,24}[^\]\n]{0,300}?\.(?:cc|h|py|cpp):\d++\]?",
    ),
    (Role.STRING, _STRING),
    (Role.NAME, r"%[\w.\-]++"),
    (Role.SHAPE, r"\b(?:pred|bf16|[fsuc]\d{1,3}\w{0,12})\[[\d,<=?]*+\](?:\{[^{}\s]{0,200}\})?"),
    (Role.NUMBER, _NUMBER + r"(?:[KMG]i?B?|us|ms|s)?\b"),
)
_SYMBOLS = _table(
    (Role.COMMENT, r"\#.*+"),
    (Role.NUMBER, r"^\s*+[0-9a-f]{8,16}\b|\b\d[\d,]*+\b"),
    (Role.KEYWORD, r"\b(?:function|object|section|file|undefined|tls|common|no\ type)\b"),
    (Role.VALUE, r"\b(?:local|global|weak)\b"),
    (Role.COMPUTATION, r"[\w.$@\-<>:~()*&]{3,}+"),
)
_THUNKS = _table(
    (Role.STRING, _STRING),
    (Role.NUMBER, r"^\s*+\d++(?=:)|" + _NUMBER),
    (Role.OPCODE, r"\bk[A-Z]\w++|\b\w++Thunk\b"),
    (Role.ATTRIBUTE, r"[A-Za-z_]\w*+(?=[=:])"),
    (Role.NAME, r"%?[a-z_][\w.\-]*+"),
)

_INDENT = rb"^[ \t]{0,64}"
_MLIR_NAME = rb'(?:"[^"\n]{1,400}"|[\w.$\-]{1,400})'
_MLIR_MARKS = re.compile(
    _INDENT + rb"(?:// -----// IR Dump (?P<pass>(?:Before|After)[^\n]{1,400}?) ?//----- ?//"
    rb"|(?:builtin\.|gpu\.)?module (?:[a-z]+ )?@(?P<module>%(n)s)"
    rb"|(?:[a-z_]{1,16}\.)?func (?:[a-z_]{1,16}(?:\(\))? ){0,4}@(?P<function>%(n)s)"
    rb'|(?:"(?:[a-z_]{1,20}\.){1,3}func"\(\)|\}\) \{)[^\n]{0,4000}?sym_name = "(?P<generic>[^"\n]{1,400})"'
    rb"|(?P<close>\})(?! (?:else|do|in)\b|, ?\{))" % {b"n": _MLIR_NAME},
    re.MULTILINE,
)
_MLIR_OPS = re.compile(
    rb'(?:= |^[ \t]{0,64})"?((?!func\.func|builtin)[a-z_][\w$]{0,40}\.[a-z_][\w.]{0,80})"?[ (:]', re.MULTILINE
)
_LLVM_MARKS = re.compile(
    rb"^(?:define [^@\n]{0,2000}@(?P<function>\"[^\"\n]{1,400}\"|[\w.$\-]{1,400})"
    rb"|declare [^@\n]{0,2000}@(?P<declared>\"[^\"\n]{1,400}\"|[\w.$\-]{1,400})|(?P<close>\}))",
    re.MULTILINE,
)
_LLVM_OPS = re.compile(
    rb"^  (?:%[\w.\"$\-]{1,200} = )?(?:tail |musttail |notail )?([a-z]\w{1,20}) ", re.MULTILINE
)
_PTX_MARKS = re.compile(
    rb"^(?:(?:\.(?:visible|weak|extern|common) ){0,2}\.(?:entry (?P<kernel>[\w.$%]{1,400})"
    rb"|func {1,4}(?:\([^()\n]{0,400}\) ?)?(?P<function>[\w.$%]{1,400}))|(?P<close>\}))",
    re.MULTILINE,
)
_PTX_OPS = re.compile(rb"^[ \t]{1,16}(?:@!?%p\d{1,6}[ \t]{1,4})?([a-z]\w{1,20})[. \t]", re.MULTILINE)
_SASS_MARKS = re.compile(
    rb"^[ \t]{0,16}(?:Function : (?P<function>[\w.$]{1,400})|//-+ (?P<section>\.text\.[\w.$]{1,400})"
    rb"|\.section\s{1,8}(?P<part>\.text\.[\w.$]{1,400}))",
    re.MULTILINE,
)
_SASS_OPS = re.compile(rb"\*/[ \t]{1,80}(?:@!?U?P[T\d] )?([A-Z][A-Z0-9]{1,20})[. ;]")
_ASSEMBLY_MARKS = re.compile(rb"^(?P<function>(?!\.L|\$)[A-Za-z_][\w.$@]{0,400}):", re.MULTILINE)
_CALLS = (
    rb"jit|pjit|xla_call|core_call|closed_call|remat2?|checkpoint|custom_\w{2,30}|scan|while|cond|shard_map|xla_pmap"
    rb"|pallas_call|run_state|for_loop|named_call|composite|linear_solve|custom_vjp_call\w{0,12}|eval_jaxpr"
)
_JAXPR_MARKS = re.compile(
    rb"^[ \t]{0,400}(?:let (?P<shared>\w{1,200}) = \{ ?lambda|(?P<jaxpr>\{ ?lambda))"
    rb"| = (?P<equation>(?:%s)(?=\[)(?:\[\s{0,400}name=[\w<>.]{1,200}(?=\s))?)" % _CALLS,
    re.MULTILINE,
)
_PRIMITIVES = re.compile(rb"(?<== )([a-z_]\w{0,60})[\[ \n]")
_PROTO_MARKS = re.compile(
    rb"^(?P<field>[A-Za-z_]\w{0,80} ?(?:\{|<)"
    rb"(?:(?:\s{0,40}[a-z_]{1,40}: [^\n]{0,120}){0,3}?"
    rb"\s{0,40}(?:\w{1,20}_)?(?:name|index|hlo|device): ?[^\n]{1,120})?)",
    re.MULTILINE,
)
_OPTION_MARKS = re.compile(rb"^(?P<option>[a-z]\w{1,100}): ", re.MULTILINE)
_LOG_MARKS = re.compile(
    rb"Running HLO pass pipeline on module (?P<pipeline>[^\n]{1,200})"
    rb"|\*\*\* Begin (?P<file>[^\n]{1,300}) \*\*\*"
    rb"|(?P<warning>\[spmd\] Involuntary full remat\w{0,20}|Constant folding an instruction|Can't reduce memory use"
    rb"|ran out of memory|Very slow compile|Compiler status \w{1,20})"
)
_MEMORY_MARKS = re.compile(
    rb"^(?P<section>[A-Z][^\n:]{2,80}:(?=[ \t\r]{0,400}$)|Total [^\n]{1,120}|Memory space[^\n]{1,80}"
    rb"|Program hbm[^\n]{1,80})|[ \t](?P<owner>\d{1,6}\. Size: [^\n]{1,40}|Buffer \d{1,6}:)"
    rb"|^  (?P<part>InstructionSequence|BufferLiveRange|Live ranges at [^\n]{1,40}):"
    rb"|^(?P<allocation>allocation \d{1,9}: [^\n]{0,80})",
    re.MULTILINE,
)
_DOT_MARKS = re.compile(
    rb"^[ \t]{0,16}(?:subgraph (?P<cluster>[\w.\"]{1,200})|label ?= ?<(?P<title>[^\n]{1,200}?)>;)",
    re.MULTILINE,
)
_DOT_NODES = re.compile(rb"^[ \t]{0,16}\w{1,80} ?(\[|->)", re.MULTILINE)
_HLO_MARKS = re.compile(
    rb"^(?:## (?P<graph>BEGIN_GRAPH)|HloModule (?P<module>[^\s,]{1,400})"
    rb"|\[(?P<saved>\w{1,60}TensorsGraph)\]|(?P<ir>IR) \{)",
    re.MULTILINE,
)
_THUNK_MARKS = re.compile(rb"^[ \t]{0,64}\d{1,8}: (?P<thunk>k[A-Z]\w{1,60}[^\n]{0,100})", re.MULTILINE)
_THUNK_KINDS = re.compile(rb"^[ \t]{0,64}\d{1,8}: (k[A-Z]\w{1,60})", re.MULTILINE)
_SYMBOL_MARKS = re.compile(rb"^# (?P<part>[^\n]{1,120})", re.MULTILINE)
_PYTHON_MARKS = re.compile(
    rb"^[ ]{0,40}(?:def (?P<function>\w{1,200})|class (?P<part>\w{1,200}))", re.MULTILINE
)
_DIFF_MARKS = re.compile(rb"^(?P<hunk>@@ [^\n]{1,120})", re.MULTILINE)


def _of_mlir(name: str) -> str:
    plain = re.escape(name.split("#")[0] if name[0] == "%" else name)
    if name[0] == "%":
        results = rf"{plain}(?::\d+)?(?:, ?%[\w$.\-]+(?::\d+)?){{0,32}}\s*=(?!=)"
        return rf"(?:^|[\s,(\[])(?:{results}|{plain}: ?[a-z!(])"
    if name[0] == "@":
        return rf"(?:func|module)[^\n@]{{0,200}}{plain}(?![\w$.\-])|sym_name = {re.escape(name[1:])}"
    return rf"^\s*{plain}(?:\(|:| ?= )" if name[0] in "#^!" else ""


def _of_llvm(name: str) -> str:
    plain = re.escape(name)
    if name[0] == "@":
        return rf"^(?:(?:define|declare)\b[^\n@]*{plain}(?![\w.$\-])|{plain} ?=)"
    if name[0] == "%":
        label = re.escape(name[1:])
        return rf"^\s*(?:{plain} = |{label}:)|^define\b[^\n]*{plain}[,)]"
    return rf"^{plain} ?=" if name[0] in "!#" else rf"^{plain}:"


def _of_jaxpr(name: str) -> str:
    return rf"(?<![\w]){re.escape(name)}:[A-Za-z]" if re.fullmatch(r"[a-z]{1,6}\d{0,6}", name) else ""


def _of_ptx(name: str) -> str:
    plain = re.escape(name)
    if name[0] == "%":
        return rf"^\s*(?:@!?%p\d+\s+)?[a-z][\w.:]*\s+(?:\{{[^\n{{}}]*)?{plain}(?![\w])"
    return rf"^\s*{plain}:|\.(?:entry|func)[^\n]*\b{plain}\b|\.(?:param|global|shared|const)[^\n]*\b{plain}\b"


def _of_assembly(name: str) -> str:
    return rf"^\s*{re.escape(name.strip('`()'))}:"


def _of_hlo(name: str) -> str:
    return rf"^\s*(?:ROOT )?%?{re.escape(name.lstrip('%'))} ?="


_PLAIN = Language(_plain)
_LANGUAGES = {
    "mlir": Language(
        _MLIR, _MLIR_MARKS, {"pass": 0, "module": 1, "function": 2, "generic": 2}, _MLIR_OPS, "operation", _of_mlir
    ),
    "jaxpr": Language(
        _JAXPR, _JAXPR_MARKS, {}, _PRIMITIVES, "equation", _of_jaxpr
    ),
    "llvm": Language(borrowed("llvm"), _LLVM_MARKS, {}, _LLVM_OPS, "instruction", _of_llvm),
    "ptx": Language(borrowed("ptx"), _PTX_MARKS, {}, _PTX_OPS, "instruction", _of_ptx),
    "sass": Language(_SASS, _SASS_MARKS, {}, _SASS_OPS, "instruction", _of_assembly),
    "assembly": Language(_ASSEMBLY, _ASSEMBLY_MARKS, {}, None, "", _of_assembly),
    "proto": Language(_PROTO, _PROTO_MARKS),
    "options": Language(_PROTO, _OPTION_MARKS),
    "log": Language(_LOG, _LOG_MARKS),
    "memory": Language(_hlo, _MEMORY_MARKS, {"section": 0, "part": 1, "owner": 1, "allocation": 1}),
    "dot": Language(borrowed("dot"), _DOT_MARKS, {"title": 0, "cluster": 1}, _DOT_NODES),
    "hlo": Language(_hlo, _HLO_MARKS, {"saved": 0, "graph": 1, "module": 2, "ir": 2}, None, "", _of_hlo),
    "thunks": Language(_THUNKS, _THUNK_MARKS, {}, _THUNK_KINDS, "thunk"),
    "symbols": Language(_SYMBOLS, _SYMBOL_MARKS),
    "diff": Language(_diff, _DIFF_MARKS),
    "json": Language(borrowed("json")),
    "python": Language(
        borrowed("python"), _PYTHON_MARKS),
    "shell": Language(borrowed("bash")),
    "html": Language(borrowed("html")),
}  # fmt: skip


@lru_cache(maxsize=4096)
def definition(name: str, of: str) -> re.Pattern[bytes] | None:
    """What finds the line that defines a name in a language; None where it defines none."""
    text = language(of).definition(name) if name else ""
    return re.compile(text.encode(), re.MULTILINE) if text else None
