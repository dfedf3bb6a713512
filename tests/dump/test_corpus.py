"""Dumps of real jobs: each file in its place, and the names as the texts themselves say them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hlo_tui.dump.edges import Edges
from hlo_tui.dump.files import scan
from hlo_tui.dump.listing import Listing, load, to_json, to_text
from hlo_tui.dump.names import parse_path
from hlo_tui.dump.suffixes import Role
from tests.corpus import corpus_dir
from tests.dump.making import labels, named, places


def dumps() -> list[Path]:
    return sorted((corpus_dir() / "dumps").iterdir())


def listing(name: str) -> Listing:
    return load(corpus_dir() / "dumps" / name)


def test_every_file_is_in_exactly_one_place() -> None:
    for root in dumps():
        walked = [
            os.path.relpath(os.path.join(where, name), root)
            for where, _, names in os.walk(root)
            for name in names
        ]
        found = load(root)
        assert places(found.catalog) == sorted(walked), root.name
        assert found.catalog.unrecognised == [], root.name
        # Only the output of a job is known by its extension alone.
        assert ("log" in {file.name.kind for file in found.catalog.other}) == root.name.endswith("-stdout")
        assert "other" not in {file.name.kind for file in found.catalog.files.values()}, root.name
        assert len(to_text(found).splitlines()) > 2
        assert to_json(found)["root"] == os.fspath(root)


def test_names_are_what_the_texts_say() -> None:
    checked = 0
    for root in dumps():
        edges = Edges(os.fspath(root))
        for module in load(root).catalog.modules:
            for stage in module.stages:
                for file in stage.files:
                    if file.is_text:
                        said = edges.module_name(file)
                        assert module.name == said, file.path
                        checked += 1
    assert checked > 1500


def test_every_text_is_complete() -> None:
    for root in dumps():
        edges = Edges(os.fspath(root))
        for file in scan(os.fspath(root)).files.values():
            assert not file.is_text or edges.is_whole(file), file.path


def test_the_passes_of_a_module_count_up_from_zero() -> None:
    whole = 0
    for root in dumps():
        if not root.name.endswith("-passes"):
            continue
        for module in load(root).catalog.modules:
            steps = [stage.point.step for stage in module.stages if stage.point.step is not None]
            assert steps == sorted(set(steps), key=int), module.name
            kinds = [stage.point.kind for stage in module.stages]
            if kinds and kinds[0] == "before":
                assert steps == list(range(len(steps))), (root.name, module.name)
                assert kinds[-1] == "after"
                assert set(kinds[1:-1]) == {"pass", "within"}
                whole += 1
    assert whole >= 18


def test_one_module_pass_by_pass() -> None:
    (module,) = named(listing("jax0102-p01_metadata-passes").catalog, "jit_doc_example")
    assert module.id == 0
    assert labels(module)[:3] == [
        "before_optimizations",
        "0000.async-collective.after_pipeline-start.before_async-collective-replacer",
        "0001.pre-spmd-partitioner.after_pipeline-start.before_strip-memory-placement-annotations",
    ]
    within = module.stage("0016.copy-insertion.after_removing_unnecessary_copies")
    assert within is not None
    assert (within.point.during, within.point.after) == (
        "copy-insertion",
        "after_removing_unnecessary_copies",
    )
    assert labels(module)[-1] == "cpu_after_optimizations"


def test_directories_by_module_and_process() -> None:
    catalog = listing("jax0102-p01_metadata-subfolder").catalog
    assert {module.process for module in catalog.modules} == {"vm_16203"}
    assert [module.id for module in named(catalog, "jit_iota")] == [30, 54]
    for module in catalog.modules:
        # Of the folder at the top three files, of the process's seven.
        assert module.count == 10
        assert module.key.group == f"{module.name}/vm_16203"


def test_timestamps() -> None:
    catalog = listing("jax0102-p01_metadata-timestamp").catalog
    (module,) = named(catalog, "jit_doc_example")
    assert module.timestamp == 1796026375048694
    assert (len(module.stages), module.count) == (2, 10)
    order = sorted(catalog.modules, key=lambda module: module.timestamp or 0)
    assert [module.id for module in order] == sorted(module.id or 0 for module in catalog.modules)


def test_jax_dumps_are_of_no_module() -> None:
    catalog = listing("jax0102-p01_metadata-jaxdump_all").catalog
    assert catalog.modules == []
    assert len(catalog.other) == 87
    assert {file.name.module for file in catalog.other} >= {"<lambda>", "jit_scanned", "scanned"}


def test_a_log_is_the_dump_that_it_holds() -> None:
    path = corpus_dir() / "dumps" / "jax0102-p01_metadata-stdout" / "stdout.log"
    data = path.read_bytes()
    found = load(path)
    assert found.log
    assert len(found.catalog.files) == data.count(b"\n*** End ")
    assert len(found.catalog.modules) == 37
    for file in found.catalog.files.values():
        assert file.span is not None
        assert file.complete
        start, length = file.span
        assert data[:start].endswith(f"*** Begin {file.path} ***\n".encode())
        assert data[start + length :].startswith(f"\n*** End {file.path} ***\n".encode())


def test_the_files_of_a_kernel_are_of_its_module() -> None:
    for name in ("tf-p10_tf-default", "txla-p11_txla-default"):
        catalog = listing(name).catalog
        assert len(catalog.modules) == 6
        for module in catalog.modules:
            assert len(module.stages) == 2
            for file in module.others:
                if file.name.kind == "kernel-mlir":
                    function = module.function_of(file)
                    assert function.endswith("_kernel_module") or function.startswith("__compute_module"), (
                        file.path
                    )


def test_listings_that_people_posted() -> None:
    folder = corpus_dir() / "snippets"
    names = [
        word
        for snippet in sorted(folder.glob("1[01]_*listing*.txt"))
        for line in snippet.read_text().splitlines()
        for word in line.split()
        if word.startswith("module_") and "." in word
    ]
    assert len(names) == 23
    for name in names:
        parsed = parse_path(name)
        assert parsed.role in (Role.STAGE, Role.SIDE), name
        assert parsed.kind != "other", name
        assert parsed.module in ("jit_train_step", "SyncTensorsGraph.4"), name
    neuron = next(folder.glob("45_*")).read_text()
    compiled = next(word for word in neuron.split() if word.endswith(".hlo_module.pb"))
    assert parse_path(os.path.basename(compiled)).kind == "hlo"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("jax0102-p01_metadata-max_modules", "11 modules without a stage"),
        ("jax0102-p02_transformer-default", "20 small modules: jit_broadcast_in_dim ×8"),
        ("jax0102-p01_metadata-passes", "before, 32 passes, cpu after"),
    ],
)
def test_the_table_of_a_real_dump(name: str, words: str) -> None:
    assert words in to_text(listing(name))
