"""What is worth knowing of a file at once, told from its first bytes."""

from __future__ import annotations

import re

from hlo_tui.formats.sorts import Sort
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode

_HEAD = 1 << 18
_MOST = 8
_LONGEST = 200
# For a sort of file: what to look for, and the words with what was found; each is told once.
_FACTS: dict[str, tuple[tuple[re.Pattern[bytes], str], ...]] = {
    "llvm": (
        (re.compile(rb'^target triple = "([^"\n]{1,120})"', re.MULTILINE), "for {}"),
        (re.compile(rb'^source_filename = "([^"\n]{1,300})"', re.MULTILINE), "its name is {}"),
    ),
    "ptx": (
        (re.compile(rb"^\.version (\S{1,20})", re.MULTILINE), "version {}"),
        (re.compile(rb"^\.target ([^\n]{1,60})", re.MULTILINE), "for {}"),
    ),
    "sass": (
        (re.compile(rb"(?:code for |\.target\s{1,8}|EF_CUDA_SM\(?)(sm_?\d{2,3}\w?|\d{2,3})"), "for {}"),
    ),
    "mlir": (
        (re.compile(rb"mhlo\.num_partitions = (?!1\b)(\d{1,9})"), "{} partitions"),
        (re.compile(rb"mhlo\.num_replicas = (?!1\b)(\d{1,9})"), "{} replicas"),
        (re.compile(rb"(?:sdy\.mesh @([^\n]{1,160}))"), "mesh {}"),
        (re.compile(rb'xla\.cpu_memory_region_name = "([^"\n]{1,160})"'), "made by {}"),
    ),
    "assembly": ((re.compile(rb'\.(?:amdgcn_)?target\s{1,8}"?([\w.\-+:]{1,80})'), "for {}"),),
}
_OF_SORTS: dict[str, tuple[tuple[re.Pattern[bytes], str], ...]] = {
    "topology": ((re.compile(rb'platform_name: "([^"\n]{1,80})"'), "platform {}"),),
    "compile-options": (
        (re.compile(rb"num_partitions: (?!1\b)(\d{1,9})"), "{} partitions"),
        (re.compile(rb"num_replicas: (?!1\b)(\d{1,9})"), "{} replicas"),
        (re.compile(rb'xla_dump_to: "([^"\n]{1,200})"'), "dumped to {}"),
    ),
    "memory-report": (
        (re.compile(rb"Total bytes used: ([^\n]{1,60})"), "total bytes used: {}"),
        (re.compile(rb"^\s*Total bytes: ([^\n]{1,60})", re.MULTILINE), "total bytes: {}"),
    ),
    "out-of-memory": (
        (re.compile(rb"(Ran out of memory in memory space[^\n]{1,160})"), "{}"),
        (re.compile(rb"(Total hbm usage[^\n]{1,80})"), "{}"),
        (re.compile(rb"total allocation: {1,16}([^\n]{1,40})"), "total allocation {}"),
        (re.compile(rb"Size: ([^\n]{1,40})"), "the first owner in it has {}"),
    ),
    "live-range": (
        (re.compile(rb"HloLiveRange \(max (\d{1,9})\)"), "{} steps"),
        (re.compile(rb"Live ranges at ([^\n]{1,60}):"), "the peak is at {}"),
    ),
    "module-metadata": ((re.compile(rb"canonical_module_id: (\d{1,9})"), "module {}"),),
    "graph-error": ((re.compile(rb"^([^\n]{1,200})"), "{}"),),
    "graph-url": ((re.compile(rb"^([^\n]{1,200})"), "{}"),),
    "ptxas": ((re.compile(rb"(Used \d{1,4} registers[^\n]{0,100})"), "{}"),),
    "neuron-log": ((re.compile(rb"(Compiler status \w{1,30})"), "{}"),),
    "thunk-report": ((re.compile(rb"op_name=\"([^\"\n]{1,160})\""), "made by {}"),),
}


def facts_of(source: Source, sort: Sort) -> tuple[str, ...]:
    """What is worth knowing of a file at once, a sentence each."""
    head = source.read(0, _HEAD)
    found = []
    for pattern, words in (*_OF_SORTS.get(sort.id, ()), *_FACTS.get(sort.language, ())):
        match = pattern.search(head)
        if match is not None:
            found.append(words.format(decode(match[1].strip())[:_LONGEST]))
    return tuple(found[:_MOST])
