"""Outlines, facts, definitions and what is made of binaries, compared with what the files say themselves."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hlo_tui.cli import main
from hlo_tui.formats import bytecode, elf, pprof, webpages
from hlo_tui.formats.opening import open_page, page_of, sort_of
from hlo_tui.formats.page import Page
from hlo_tui.formats.report import page_report, page_text
from hlo_tui.hlo.source import BytesSource, FileSource
from tests.corpus import corpus_dir
from tests.formats import samples


def page(text: str | bytes, name: str = "file") -> Page:
    data = text.encode() if isinstance(text, str) else text
    found = page_of(BytesSource(data, name))
    found.scan()
    return found


OUTLINES = {
    "stablehlo": [("module", "jit_f", 2, 14), ("function", "main", 3, 8), ("function", '"inner.1"', 9, 13)],
    "mlir-passes": [
        ("pass", "Before CanonicalizerPass (canonicalize) ('builtin.module' operation: @kernel)", 1, 10),
        ("module", "kernel", 2, 8), ("module", "kernels", 3, 7), ("function", "body", 4, 6),
        ("pass", "After CSE (cse)", 11, 16), ("module", "kernel", 12, 16), ("function", "body", 13, 15),
    ],
    "llvm-ir": [
        ("function", "add_fusion", 6, 10), ("function", '"a name.1"', 12, 15), ("declaration", "llvm.exp.f32", 17, 17),
    ],
    "ptx": [("kernel", "loop_add_fusion", 9, 19), ("function", "helper", 20, 25)],
    "sass": [("function", "loop_add_fusion", 2, 7)],
    "jaxpr": [("jaxpr", "{ lambda", 1, 8), ("equation", "jit inner", 3, 8)],
    "thunk-sequence": [
        ("thunk", "kCopy copy.1", 1, 1), ("thunk", "kGemm %custom-call.3, device=0", 2, 3),
        ("thunk", "kKernel loop_add_fusion", 3, 3),
    ],
    "debug-options": [("option", "xla_cpu_use_onednn", 1, 1), ("option", "xla_dump_to", 2, 2)],
    "mosaic-tpu": [("function", "matmul_kernel", 2, 6)],
    "out-of-memory": [("section", "Peak buffers:", 2, 6), ("owner", "Buffer 1:", 3, 6)],
    "module-metadata": [("field", 'pass_metadata { pass_id: 1 pass_name: "dce"', 2, 6)],
}  # fmt: skip


@pytest.mark.parametrize("sort", OUTLINES)
def test_outlines(sort: str) -> None:
    found = page(samples.TEXTS[sort])
    rows = [(entry.kind, entry.name, entry.line + 1, entry.last + 1) for entry in found.entries]
    assert rows == OUTLINES[sort]
    for line in range(found.lines.count if found.lines is not None else 0):
        around = [entry for entry in found.entries if entry.line <= line <= entry.last]
        assert found.entry_at(line) == (max(around, key=lambda one: one.line) if around else None)


@pytest.mark.parametrize(
    ("sort", "name", "near", "line"),
    [
        ("stablehlo", "%0", 5, 4), ("stablehlo", "%0", 11, 9), ("stablehlo", "%1#0", 6, 5),
        ("stablehlo", "%arg1", 9, 8), ("stablehlo", '@"inner.1"', 5, 8), ("stablehlo", "#loc5", 4, 17),
        ("llvm-ir", "%2", 7, 6), ("llvm-ir", "@llvm.exp.f32", 7, 16), ("llvm-ir", "%0", 6, 5),
        ("ptx", "%rd1", 15, 14), ("ptx", "$L__BB0_2", 15, 16),
        ("jaxpr", "c", 6, 2), ("jaxpr", "b", 6, 1), ("jaxpr", "nothing", 6, None),
    ],
)  # fmt: skip
def test_definitions(sort: str, name: str, near: int, line: int | None) -> None:
    assert page(samples.TEXTS[sort]).definition_line(name, near) == line


def test_counts_and_facts() -> None:
    found = page(samples.STABLEHLO)
    assert found.counts == Counter(
        {"stablehlo.constant": 2, "stablehlo.broadcast_in_dim": 1, "stablehlo.multiply": 1}
    )
    assert "8 partitions" in found.facts
    assert page(samples.PTX).facts == ("version 8.3", "for sm_90a")
    assert page(samples.DOT).counts == Counter(nodes=2, edges=1)


def test_an_object_file() -> None:
    symbols = elf.symbols(BytesSource(samples.object_file(), "x.o"))
    assert [(one.name, one.size, one.kind, one.section) for one in symbols] == [
        ("add_fusion", 16, "function", ".text")
    ]
    assert "1 function, 16 B of code" in page(samples.object_file()).facts


def test_a_profile() -> None:
    text = pprof.render(BytesSource(samples.profile(), "x")).text.decode()
    assert re.findall(r"^ +(\d+) +(\w+) +(\S+) f$", text, re.MULTILINE) == [
        ("2", "mul", "/home/u/train.py:12"), ("1", "sin", "/home/u/train.py:11"),
    ]  # fmt: skip


def test_pages_for_a_browser() -> None:
    jaxpr = page(samples.jaxpr_page())
    assert [jaxpr.text(line) for line in range(3)] == [
        "{ lambda ; a:f32[]. let",
        "b:f32[] = sin a",
        "  in (b,) }",
    ]
    assert jaxpr.origins == {1: ("/home/u/train.py:3:1 f", "/home/u/train.py:7:4 main")}
    graph = page(samples.graph_page())
    assert graph.facts[:2] == ("its title is Fusion Explorer: jit_f", "2 graphs")
    assert graph.counts["edges"] == 2


def test_an_archive_and_an_array() -> None:
    assert "x.npy  <f4[2,3]" in page(samples.archive()).text(1)
    assert page(samples.npy()).facts[0] == "<f4[2,3]"


def test_lines_longer_than_a_block() -> None:
    long = '%0 = stablehlo.constant dense<"0x' + "AB" * 2_000_000 + '"> : tensor<4xf32>'
    text = samples.STABLEHLO.replace("    %c = ", f"    {long}\n    %c = ")
    found = page(text)
    assert found.lines is not None
    assert found.lines.count == samples.STABLEHLO.count("\n") + 1
    assert [entry.line for entry in found.entries] == [1, 2, 8]
    assert found.text(10).endswith("tensor<4xf32>")
    assert found.text(11).startswith("    %c = ")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(samples.PTX)
    assert main(["show", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["outline"][0]["name"]) == ("ptx", "loop_add_fusion")
    assert main(["show", str(path), "helper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"][-1] == "}"
    assert main(["show", str(path), "nobody"]) == 2
    path.write_bytes(samples.BINARIES["riegeli"])
    assert main(["show", str(path)]) == 2
    assert "riegeli" in capsys.readouterr().err


def test_several_modules_in_a_file_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "saved.txt"
    text = "HloModule a\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n"
    path.write_text(text + text.replace("HloModule a", "HloModule b"))
    assert main(["show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["members"] == ["a", "b"]
    assert main(["show", str(path)]) == 0
    assert "a, 1 of 2 in this file\nmodules in this file, for --member\n  a\n  b" in capsys.readouterr().out


def _mlir(paths: list[Path]) -> dict[str, dict[str, object]]:
    """What MLIR itself finds in files: functions and operations, in a child process."""
    code = """
import json, sys
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
def walk(op, found):
    for region in op.regions:
        for block in region.blocks:
            for one in block.operations:
                found.append(one.operation)
                walk(one.operation, found)
for path in sys.argv[1:]:
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(open(path).read())
        found = []
        walk(module.operation, found)
        names = [str(one.attributes["sym_name"]).strip('"') for one in found if one.name == "func.func"]
        ops = [one.name for one in found]
        print(json.dumps([path, names, ops]), flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=True
    )
    rows = map(json.loads, done.stdout.splitlines())
    return {path: {"functions": names, "operations": Counter(ops)} for path, names, ops in rows}


def test_stablehlo_against_mlir() -> None:
    root = corpus_dir() / "dumps"
    paths = sorted(root.glob("*p02*/*/module.mlir")) + sorted(root.glob("*p07*/*/module.mlir"))[:80]
    paths += sorted(root.glob("*jaxdump*/*.mlir"))
    theirs = _mlir(paths)
    for path in paths:
        ours, known = page(path.read_bytes(), path.name), theirs[str(path)]
        names = [entry.name for entry in ours.entries if entry.kind == "function"]
        assert names == known["functions"], path
        operations = known["operations"]
        assert isinstance(operations, Counter)
        for name, count in ours.counts.items():
            # What a short form writes as a word, such as what a reduction applies, has no line of its own.
            assert name.startswith(("func.", "stablehlo.return")) or count <= operations[name], (path, name)
        missed = operations - ours.counts
        hidden = {"func.func", "func.return", "func.call", "stablehlo.return", "stablehlo.add", "stablehlo.maximum",
                  "stablehlo.minimum", "stablehlo.multiply", "stablehlo.or", "stablehlo.and"}  # fmt: skip
        assert set(missed) <= hidden, (path, missed)


def test_bytecode_against_mlir(tmp_path: Path) -> None:
    code = """
import sys
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
with mlir.make_ir_context():
    ir.Module.parse(sys.stdin.read()).operation.write_bytecode(open(sys.argv[1], "wb"))
"""
    path = tmp_path / "x.mlirbc"
    subprocess.run([sys.executable, "-c", code, str(path)], input=samples.STABLEHLO, text=True, check=True)
    rows = bytecode.render(FileSource(path))
    strings = rows.text.decode().split("# strings\n")[1].split("\n")
    assert {"jit_f", "main", "inner.1", "stablehlo", "func", "jit(f)/broadcast_in_dim"} <= set(strings)
    assert "version 6 of the format, written by MLIR" in rows.facts[0] or "written by MLIR" in rows.facts[0]
    assert "cut off" not in rows.text.decode()


def test_jaxprs_against_one_another() -> None:
    root = corpus_dir() / "dumps" / "jax0102-p01_metadata-jaxdump_all"
    paths = sorted(root.glob("*.jaxpr.txt"))
    assert paths
    for path in paths:
        html = webpages.render_jaxpr(FileSource(str(path).replace(".txt", ".html")))
        assert html is not None
        assert html.text.decode().split("\n") == path.read_text().split("\n")
        profile = gzip.decompress(Path(str(path).replace("jaxpr.txt", "eqn_count_pprof")).read_bytes())
        text = (
            pprof.render(BytesSource(profile, "x")).text.decode().partition("# equations by primitive\n")[2]
        )
        counted = {name: int(count) for count, name in (row.split() for row in text.splitlines())}
        assert page(path.read_bytes(), path.name).counts == counted


def test_object_files_against_nm() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed")
    paths = sorted(corpus_dir().glob("dumps/*/*.o"))
    assert paths
    for path in paths:
        done = subprocess.run([nm, "-S", str(path)], capture_output=True, text=True, check=True)
        theirs = {
            (row[-1], int(row[1], 16)) for row in map(str.split, done.stdout.splitlines()) if len(row) == 4
        }
        ours = {(one.name, one.size) for one in elf.symbols(FileSource(path)) if one.size}
        assert ours == theirs


def test_every_real_file_has_a_view() -> None:
    root = corpus_dir()
    seen: Counter[str] = Counter()
    for path in sorted((root / "dumps").rglob("*")):
        if not path.is_file() or re.search(r"\.(?:hlo\.pb|txt)$", path.name):
            continue
        sort = sort_of(path)
        if sort is None or seen[sort.id] > 25:
            continue
        seen[sort.id] += 1
        found = open_page(path)
        found.scan()
        assert page_text(found)
        json.dumps(page_report(found))
        if sort.language in ("mlir", "llvm", "jaxpr", "proto", "symbols", "dot"):
            assert found.entries or path.suffix == ".pb", path
    assert len(seen) > 10
