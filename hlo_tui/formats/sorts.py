"""The sorts of files that come with a dump, each told by its contents, and by its name where contents do not do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hlo_tui.dump.names import parse_path
from hlo_tui.hlo import kinds

_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort of file.

    Attributes:
        id: its name in the program and in JSON.
        words: what to call it, with its article.
        language: the language that its text is in, see `languages`; empty for plain text.
        hint: what to do with it, or how to get more; empty where there is nothing to say.
    """

    id: str
    words: str
    language: str = ""
    hint: str = ""


_OOM = "M shows who owns the memory, and so does hlo-tui memory FILE."
_MEMORY = "M shows it with names, times and lines of the program, and so does hlo-tui memory FILE."
_SORTS = (
    Sort("stablehlo", "StableHLO text", "mlir"),
    Sort("shardy", "a module between Shardy's passes, MLIR text", "mlir"),
    Sort("mosaic-tpu", "a Mosaic TPU kernel, MLIR text", "mlir"),
    Sort("mosaic-gpu", "a Mosaic GPU kernel, MLIR text", "mlir"),
    Sort("triton-ir", "a Triton kernel, MLIR text", "mlir"),
    Sort("kernel-mlir", "a kernel that XLA emits, MLIR text", "mlir"),
    Sort("mlir", "MLIR text", "mlir"),
    Sort("mlir-passes", "MLIR after each of its passes", "mlir"),
    Sort(
        "mlir-bytecode", "MLIR bytecode", "",
        "A text form is written with --xla_dump_enable_mlir_pretty_form, or by JAX with JAX_DUMP_IR_TO.",
    ),
    Sort("jaxpr", "a jaxpr", "jaxpr"),
    Sort("jaxpr-html", "a jaxpr with the places it comes from, made for a browser", "jaxpr"),
    Sort("equation-counts", "a profile of the jaxpr: equations by source line"),
    Sort("llvm-ir", "LLVM IR text", "llvm"),
    Sort("llvm-bitcode", "LLVM bitcode", "", "llvm-dis makes text of it."),
    Sort("ptx", "PTX, the assembly of NVIDIA's virtual machine", "ptx"),
    Sort("ptxas", "what ptxas says of registers and spills", "log"),
    Sort("sass", "SASS, the machine code of an NVIDIA GPU", "sass"),
    Sort("amdgcn", "the assembly of an AMD GPU", "assembly"),
    Sort("assembly", "assembly", "assembly"),
    Sort("object", "object code: symbols and their sizes", "symbols"),
    Sort("thunk-sequence", "the thunks of an executable in their order", "thunks"),
    Sort("thunk-metadata", "metadata of thunks", "proto"),
    Sort("thunk-report", "source lines and HLO of a thunk", "hlo"),
    Sort("autotune-results", "results of autotuning", "proto"),
    Sort("debug-options", "XLA's options that are not at their default", "options"),
    Sort("compile-options", "options of one compilation", "proto"),
    Sort("module-config", "the configuration of a module", "proto"),
    Sort("topology", "the devices that were compiled for", "proto"),
    Sort("gpu-target", "the GPU that was compiled for", "proto"),
    Sort("module-metadata", "metadata of a module: its passes and their times", "proto", "hlo-tui passes DIR MODULE"),
    Sort("schedule", "a schedule", "proto"),
    Sort("fusion-decisions", "decisions of priority fusion", "proto"),
    Sort("fusion-explorer", "XLA's fusion visualisation", "", "Made for a browser, or for Python to run it."),
    Sort("graph", "a Graphviz graph", "dot", "dot -Tsvg draws it."),
    Sort("graph-page", "a graph of HLO, made for a browser", "dot"),
    Sort("graph-url", "the address of a graph"),
    Sort("graph-error", "the error of a graph that could not be drawn"),
    Sort("riegeli", "a riegeli file", "", "XLA writes a .hlo.pb with --xla_dump_hlo_as_proto."),
    Sort("buffer-assignment", "a buffer assignment", "memory", _MEMORY),
    Sort("buffer-values", "values and their buffers", "memory"),
    Sort("memory-report", "a memory usage report", "memory", _MEMORY),
    Sort("live-range", "live ranges of values", "memory", _MEMORY),
    Sort("out-of-memory", "an out-of-memory report", "memory", _OOM),
    Sort("lazy-ir", "lazy tensors' IR of PyTorch/XLA, not HLO", "hlo"),
    Sort("saved-tensors", "graphs that PyTorch/XLA saved (XLA_SAVE_TENSORS_FILE)", "hlo"),
    Sort("tensorflow-graph", "a TensorFlow graph, not HLO", "proto"),
    Sort("proto-text", "a proto as text", "proto"),
    Sort("proto", "a binary proto", "proto"),
    Sort("dump-listing", "a list of a dump's files", "", "hlo-tui list DIR makes such a list of a directory."),
    Sort("literal", "a literal: the elements of an array", "hlo"),
    Sort("pass-log", "a log of HLO passes", "log"),
    Sort("partitioner-warning", "warnings of the SPMD partitioner", "log"),
    Sort("folding-alarm", "XLA's alarm of slow constant folding", "log"),
    Sort("remat-warning", "rematerialization's warning", "log"),
    Sort("run-log", "what run_hlo_module said", "log"),
    Sort("neuron-log", "what Neuron's compiler said", "log"),
    Sort("log", "a log", "log"),
    Sort("diff", "differences of two texts", "diff"),
    Sort("commands", "commands of a shell", "shell"),
    Sort("execution-options", "options of one execution", "proto"),
    Sort("target-arguments", "arguments of the compiler for its target", "proto"),
    Sort("tpu-environment", "the environment of a TPU compilation", "proto"),
    Sort("transfer-stats", "statistics of transfers", "proto"),
    Sort("profile", "a profile for the compiler to optimise by", "proto"),
    Sort("executable", "a compiled executable", "proto"),
    Sort("debug-log", "checksums of buffers, execution by execution", "proto"),
    Sort("tpu-llo", "the low-level operations of a TPU", "assembly"),
    Sort("device-code", "machine code of a GPU", "symbols"),
    Sort("json", "JSON", "json"),
    Sort("python", "a Python program", "python"),
    Sort("numpy", "an array of numpy", "", "A replay takes it as inputs: --inputs FILE."),
    Sort("arrays", "arrays of numpy", "", "A replay takes it as inputs: --inputs FILE."),
    Sort("archive", "a zip archive"),
    Sort("html", "an HTML page", "html"),
    Sort("empty", "an empty file", "", "Is it still being written?"),
    Sort("zeros", "nothing but zeros", "", "The file was made larger than what was written to it."),
    Sort("proto-error", "the error of a proto that XLA could not write"),
    Sort("text", "text that is not known here"),
    Sort("binary", "binary data that is not known here"),
)  # fmt: skip
BY_ID = {sort.id: sort for sort in _SORTS}

_MAGIC = (
    (b"ML\xefR", "mlir-bytecode"),
    (b"\x7fELF", "object"),
    (b"\xcf\xfa\xed\xfe", "object"),
    (b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", "riegeli"),
    (b"BC\xc0\xde", "llvm-bitcode"),
    (b"\x93NUMPY", "numpy"),
)

# What the first line that says something begins with; the first that fits is taken.
_BEGINS = (
    (rb"// -----// IR Dump", "mlir-passes"),
    (rb"(?:; ModuleID|source_filename|target triple|target datalayout|define \S|attributes #\d)", "llvm-ir"),
    (rb"\{ lambda\b|let +lambda\b", "jaxpr"),
    (rb"(?:strict )?digraph\b", "graph"),
    (rb"\.version \d|// Generated by (?:NVIDIA NVVM|LLVM NVPTX)", "ptx"),
    (rb"ptxas info|ptxas warning", "ptxas"),
    (rb"\t?\.amdgcn_target|\.amdhsa", "amdgcn"),
    (
        rb"\s{0,16}code for sm_|Fatbin elf code|\s{0,16}Function : |//-+ \.(?:text|nv)|\s*\.headerflags",
        "sass",
    ),
    (rb"BufferAssignment:|allocation \d+: ", "buffer-assignment"),
    (rb"Memory [Ss]pace|Total bytes used", "memory-report"),
    (rb"HloLiveRange", "live-range"),
    (rb"Error rendering graph", "graph-error"),
    (rb"https?://", "graph-url"),
    (rb"Failed to serialize", "proto-error"),
    (rb"IR \{", "lazy-ir"),
    (rb"\[[A-Za-z]{3,40}TensorsGraph\]|TensorsGraphInfo:|\[\w+Graph\w*\]\s", "saved-tensors"),
    (rb"Source locations: ?$", "thunk-report"),
    (rb"--- [^\n]{1,400}\n\+\+\+ |diff --git ", "diff"),
    (rb"\d{1,8}: +k[A-Z]\w{2,60}\s|\[?\w*Thunk\w*\]? ", "thunk-sequence"),
    (rb"thunk_metadata", "thunk-metadata"),
    (rb"canonical_module_id|pass_metadata ?\{|module_group_name", "module-metadata"),
    (rb"executable_build_options ?\{|parameter_is_tupled_arguments|argument_layouts ?\{", "compile-options"),
    (rb"platform_id:|platform_name:", "topology"),
    (rb"gpu_device_info|platform_name: \"(?:CUDA|ROCM)\"", "gpu-target"),
    (rb"fusion_steps ?\{|gpu_backend_config", "fusion-decisions"),
    (rb"computation_schedules|hlo_module_schedule", "schedule"),
    (rb"xla_[a-z]\w{2,100}: ", "debug-options"),
    (rb"(?:node|library|versions) ?\{", "tensorflow-graph"),
    (rb"(?:entry_computation_layout|replica_count|static_device_assignment) ?[{:]", "module-config"),
    (
        rb"(?:results|version:)[^\n]{0,200}\n(?:[^\n]{0,400}\n){0,20}?\s{0,8}(?:device|hlo): ",
        "autotune-results",
    ),
    (rb"results ?\{\s{0,8}(?:device|hlo): ", "autotune-results"),
    (rb"#!/|export [A-Z_]{2,60}=|[A-Z_]{2,60}=\S+ +(?:python|\S*/)", "commands"),
    (rb"(?:bf16|[fsuc]\d{1,3}\w{0,12}|pred)\[[\d,]{0,200}\](?:\{[\d,]{0,100}\})? \{", "literal"),
)
_FIRST = tuple((re.compile(pattern, re.MULTILINE), sort) for pattern, sort in _BEGINS)

# What stands near the beginning of a line in the first bytes of a text; the first that fits is taken.
_HOLDS = (
    (rb"Largest program allocations in|Total hbm usage|Ran out of memory in memory space", "out-of-memory"),
    (rb"BufferAssignment OOM|BufferAssignment stats:|Peak buffers:|Entry Parameter Subshape:"
     rb"|Extra memory due to padding:|XLA label: ", "out-of-memory"),
    (rb"^// -----// IR Dump", "mlir-passes"),
    (rb"hlo_pass_pipeline\.cc:", "pass-log"),
    (rb"\[spmd\] Involuntary full remat|spmd_partitioner\.cc:", "partitioner-warning"),
    (rb"Constant folding an instruction is taking", "folding-alarm"),
    (rb"run_hlo_module\.cc:", "run-log"),
    (rb"hlo_rematerialization\.cc:|rematerializ", "remat-warning"),
    (rb"neuronx?-cc|NEURON_|NCC_|neuron-compile-cache", "neuron-log"),
    (rb"^## BEGIN_GRAPH", "saved-tensors"),
    (rb"Very slow compile|HLO -> LLVM IR lowering", "log"),
)  # fmt: skip
_INSIDE = tuple((re.compile(pattern, re.MULTILINE), sort) for pattern, sort in _HOLDS)
# Bytes of a line before what is looked for: a log's prefix, and no more than that.
_PREFIX = 160
# These have lines of HLO in them, so that they are told before HLO is.
_BEFORE_HLO = frozenset((
    "out-of-memory", "mlir-passes", "lazy-ir", "saved-tensors", "thunk-report", "diff", "literal", "jaxpr",
    "partitioner-warning", "folding-alarm", "buffer-assignment", "run-log", "memory-report", "pass-log",
))  # fmt: skip

_MLIR = re.compile(
    rb"^\s{0,64}(?:module(?:\s+@|\s*\{|\s+attributes)|builtin\.module|\"builtin\.module\"|func\.func\b"
    rb"|(?:%[\w#:, %]{1,200}|#\w{1,64}|!\w{1,64}) ?= ?(?:\"?[a-z_]\w{0,40}\.[a-z_]|loc\(|affine_map|#\w|!)"
    rb"|#(?:loc|map|sdy|tpu|xla|blocked|shared)\w{0,32} ?=|tt\.func|gpu\.module|llvm\.func|sdy\.mesh)",
    re.MULTILINE,
)
# Dialects by what they are for, told in this order.
_DIALECTS = (
    ("mosaic-tpu", re.compile(rb"\btpu\.\w|#tpu\.|\bllo\.")),
    ("mosaic-gpu", re.compile(rb"\bmosaic_gpu\.|#mosaic_gpu\.")),
    ("triton-ir", re.compile(rb"\btt\.(?:func|load|store|return)\b|#(?:ttg|triton_gpu)\.")),
    (
        "kernel-mlir",
        re.compile(rb"\bxla(?:_cpu|_gpu)?\.(?:loop|entry|pure_call|backend_kind|slice_index)|\bxtile\."),
    ),
    ("stablehlo", re.compile(rb"\b(?:stablehlo|mhlo|chlo|vhlo)\.\w")),
)
_LOG_LINE = re.compile(
    rb"^[IWEF]\d{4} [\d:.]{8,24} |^\d{4}-\d\d-\d\d[ T][\d:.,]{8,20}(?:: [IWEF]|Z|\s)", re.MULTILINE
)
_LISTED = re.compile(
    rb"^[^\n]{0,200}?\bmodule_\d{4,}\.[\w.\-]{4,255}(?:txt|pb|flagfile|dot|html|ll|options)\s*$", re.MULTILINE
)
_OPTION = re.compile(rb"^xla_[a-z]\w{2,100}: ", re.MULTILINE)
_FIELD = re.compile(rb"^[a-z_]\w{0,80}(?:: ?(?:\"|-?\d|[A-Z_a-z]\w*$)| ?\{$)", re.MULTILINE)
_LAZY = re.compile(rb"^\s{0,8}%\d{1,9} = [^\n]{1,400}? (?:aten|xla|prim|torch_xla)::", re.MULTILINE)
_VALUES = re.compile(rb"^ ?<\d+ \S|^HloValue|^\s{0,8}value: <\d", re.MULTILINE)
_SASS = re.compile(rb"/\*[0-9a-f]{4,6}\*/\s{1,80}[@A-Z]")
_ASSEMBLY = re.compile(rb"^\s{0,8}\.(?:text|globl|section|file|p2align)\b", re.MULTILINE)

# Endings of names, for contents that say little; compared in this order.
_NAMES = (
    (r"\.jaxpr\.html$", "jaxpr-html"),
    (r"\.jaxpr\.txt$", "jaxpr"),
    (r"\.eqn_count_pprof$", "equation-counts"),
    (r"\.debug_options$|(?:^|\.)flagfile$", "debug-options"),
    (r"compile_options\.(?:textproto|pb)$", "compile-options"),
    (r"topology\.(?:textproto|pb)$", "topology"),
    (r"\.config\.pbtxt$|hlo_module_config", "module-config"),
    (r"metadata\.textproto$", "module-metadata"),
    (r"thunk_metadata", "thunk-metadata"),
    (r"thunk_(?:sequence|schedule)", "thunk-sequence"),
    (r"autotune_results", "autotune-results"),
    (r"gpu_target_config", "gpu-target"),
    (r"priority_fusion_dump", "fusion-decisions"),
    (r"_fusion\.(?:pyz|html)$", "fusion-explorer"),
    (r"memory-usage-report", "memory-report"),
    (r"buffer-assignment-values", "buffer-values"),
    (r"buffer-assignment", "buffer-assignment"),
    (r"live-range", "live-range"),
    (r"\.schedule\.(?:txt|pb)$", "schedule"),
    (r"\.ptxas$", "ptxas"),
    (r"\.sass(?:_ctrl)?$", "sass"),
    (r"\.ptx$", "ptx"),
    (r"\.ll$", "llvm-ir"),
    (r"mlir-passes\.log$", "mlir-passes"),
    (r"\.url$", "graph-url"),
    (r"\.s$", "assembly"),
    (r"\.py$", "python"),
    (r"\.sh$", "commands"),
    (r"\.json$", "json"),
    (r"\.(?:log|out|err)$", "log"),
)
_BY_NAME = tuple((re.compile(pattern), sort) for pattern, sort in _NAMES)
_TEXT_NAMES = frozenset((
    "module-config", "thunk-sequence", "sass", "ptxas", "assembly", "python", "commands", "json", "log",
    "debug-options", "compile-options", "topology", "buffer-values", "memory-report", "schedule", "gpu-target",
    "thunk-metadata", "autotune-results", "fusion-decisions", "graph-url", "ptx", "llvm-ir", "module-metadata",
    "buffer-assignment", "live-range", "mlir-passes", "jaxpr",
))  # fmt: skip
_BINARY_NAMES = frozenset((
    "compile-options", "topology", "memory-report", "thunk-metadata", "fusion-decisions", "schedule",
    "module-config", "equation-counts",
))  # fmt: skip
# What a dump's grammar of names calls a file that neither its contents nor the endings above tell.
_BY_KIND = {
    "execution-options": "execution-options", "target-arguments": "target-arguments", "tpu-comp-env": "tpu-environment",
    "transfer-stats": "transfer-stats", "fdo-profile": "profile", "gpu-executable": "executable",
    "buffer-debug-log": "debug-log", "tpu-llo": "tpu-llo", "device-code": "device-code", "mosaic-tpu": "mosaic-tpu",
    "mosaic-gpu": "log", "schedule": "schedule", "hlo-config": "module-config", "cudnn-graph": "json",
    "flagfile": "debug-options", "tensorflow-graph": "tensorflow-graph", "topology": "topology",
}  # fmt: skip
# Told by their names where their first lines are alike.
_ALIKE = frozenset(("buffer-values", "memory-report", "topology", "gpu-target"))
_MODULE = re.compile(rb"^HloModule ", re.MULTILINE)
# Fields of a textproto that has no name to go by begin a line; so many make it likely.
_FEW = 2


def recognise(head: bytes, name: str = "") -> Sort | None:
    """What a file is that is not HLO.

    Args:
        head: its first bytes, unpacked where it is gzip; 64 KiB of them are looked at.
        name: its name, for contents that say little.

    Returns:
        The sort; None for HLO as text or as a proto, which `hlo.loading` reads.
    """
    head = head[:_HEAD]
    kind = kinds.sniff(head, name)
    if kind == kinds.EMPTY:
        return BY_ID["empty"]
    for magic, sort in _MAGIC:
        if head.startswith(magic):
            return BY_ID[sort]
    if head.startswith(b"PK\x03\x04") or (head.startswith(b"#!") and b"PK\x03\x04" in head[:256]):
        return BY_ID[_archive(name)]
    named = _by_name(name.removesuffix(".gz"))
    if kind == kinds.BINARY:
        if not head.strip(b"\0"):
            return BY_ID["zeros"]
        return BY_ID[named if named in _BINARY_NAMES else _of_grammar(name, "binary")]
    if kind in (kinds.HLO_PROTO, kinds.MODULE_PROTO, kinds.SNAPSHOT, kinds.UNOPTIMIZED, kinds.CONTAINER):
        # The first field of many protos is a string: of some the name says that they are no module.
        return BY_ID[named] if named in _BINARY_NAMES else None
    if kind == kinds.TEXT_PROTO:
        return None if named not in _TEXT_NAMES else BY_ID[named]
    if kind == kinds.TEXT and _MODULE.search(head) and not head.startswith((b"---", b"diff ")):
        return None
    found = _of_text(head, named)
    if found in ("text", "proto-text"):
        found = _of_grammar(name, found)
    if kind == kinds.TEXT:
        return BY_ID[found] if found in _BEFORE_HLO else None
    return BY_ID[found]


def _archive(name: str) -> str:
    if name.endswith(".npz"):
        return "arrays"
    return "fusion-explorer" if name.endswith(".pyz") else "archive"


def _by_name(name: str) -> str:
    return next((sort for pattern, sort in _BY_NAME if pattern.search(name)), "")


def _of_grammar(name: str, otherwise: str) -> str:
    """What a file's name says in a dump's own grammar."""
    return _BY_KIND.get(parse_path(name.removesuffix(".gz")).kind, otherwise)


def _of_text(head: bytes, named: str) -> str:
    start = head[: len(head) - len(head.lstrip(b"\xef\xbb\xbf \t\r\n"))]
    text = head[len(start) :]
    if re.match(rb"(?i:<!doctype html|<html)", text):
        return _page(head, named)
    if _LAZY.search(head) and b"BEGIN_GRAPH" not in head:
        return "lazy-ir"
    code = _without_comments(text)
    for pattern, sort in _FIRST:
        if pattern.match(text) or pattern.match(code):
            return named if named in _ALIKE and sort in _ALIKE else sort
    for pattern, sort in _INSIDE:
        found = pattern.search(head)
        if found is not None and found.start() - head.rfind(b"\n", 0, found.start()) <= _PREFIX:
            return sort
    if _MLIR.search(code):
        return _dialect(head, named)
    if named in _TEXT_NAMES:
        return named
    return _loose(text)


def _page(head: bytes, named: str) -> str:
    if named in ("jaxpr-html", "fusion-explorer"):
        return named
    if b"base64Data" in head and b"jaxpr" in head:
        return "jaxpr-html"
    if b"digraph" in head or b"d3-graphviz" in head or b"#rendered" in head:
        return "graph-page"
    return "fusion-explorer" if b"fusion" in head.lower() else "html"


def _without_comments(text: bytes) -> bytes:
    while text.startswith((b"//", b";", b"# ")):
        end = text.find(b"\n")
        if end < 0:
            return b""
        text = text[end + 1 :].lstrip()
    return text


def _dialect(head: bytes, named: str) -> str:
    if named == "mlir-passes":
        return named
    if (
        re.search(rb"\bsdy\.(?:mesh|sharding|constraint|manual|return|named)", head)
        and b"stablehlo." not in head
    ):
        return "shardy"
    return next((sort for sort, pattern in _DIALECTS if pattern.search(head)), "mlir")


def _loose(text: bytes) -> str:
    """What a text is that has no mark of its own: by how its lines look."""
    lines = text.count(b"\n") + 1
    if _VALUES.search(text):
        return "buffer-values"
    if len(_LISTED.findall(text)) * 2 > lines:
        return "dump-listing"
    if _SASS.search(text):
        return "sass"
    if _OPTION.search(text):
        return "debug-options"
    if text.startswith((b"{", b"[")) and re.match(rb"[{\[]\s{0,200}(?:\"|[\d{\[\]}-])", text):
        return "json"
    if _ASSEMBLY.search(text):
        return "assembly"
    if _LOG_LINE.search(text):
        return "log"
    if len(_FIELD.findall(text)) >= max(_FEW, lines // 8):
        return "proto-text"
    return "text"
