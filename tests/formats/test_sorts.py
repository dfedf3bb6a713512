"""What a file is, told from its contents alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.formats.opening import open_page, sort_of
from hlo_tui.formats.sorts import BY_ID, recognise
from tests.corpus import corpus_dir
from tests.formats.samples import BINARIES, CLOSED, TEXTS
from tests.hlo_text.samples import HAND_WRITTEN, STEP


@pytest.mark.parametrize("sort", TEXTS)
def test_texts(sort: str) -> None:
    found = recognise(TEXTS[sort].encode(), "somebody_s_file.txt")
    assert found is not None
    assert found.id == sort


@pytest.mark.parametrize("sort", BINARIES)
def test_binaries(sort: str, tmp_path: Path) -> None:
    path = tmp_path / "somebody_s_file"
    path.write_bytes(BINARIES[sort])
    found = sort_of(path)
    assert found is not None
    assert found.id == sort


@pytest.mark.parametrize("sort", CLOSED)
def test_what_cannot_be_shown_says_why(sort: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BINARIES[sort])
    with pytest.raises(HloTuiError) as caught:
        open_page(path)
    if sort == "empty":
        assert caught.value.title == "The file is empty"
    else:
        assert BY_ID[sort].words in caught.value.message
        assert len(caught.value.message) > len(f"{path} is {BY_ID[sort].words}: ")


@pytest.mark.parametrize("text", [STEP, HAND_WRITTEN, "ENTRY e {\n  p = f32[] parameter(0)\n}\n"])
def test_hlo_is_left_to_its_reader(text: str) -> None:
    assert recognise(text.encode()) is None


@pytest.mark.parametrize(
    ("name", "sort"),
    [
        ("module_0001.f.thunk_sequence.txt", "thunk-sequence"),
        ("a.hlo_module_config.txt", "module-config"),
        ("module_0001.f.gpu_target_config.pbtxt", "gpu-target"),
        ("flagfile", "debug-options"),
        ("k.sass", "sass"),
        ("train.py", "python"),
        ("module_0001.jit_f.execution_options.txt", "execution-options"),
        ("module_0001.jit_f.target_arguments.txt", "target-arguments"),
        ("module_0001.jit_f.tpu_comp_env.txt", "tpu-environment"),
        ("module_0001.jit_f.transfer_stats.txt", "transfer-stats"),
        ("module_0001.jit_f.sm_9.0_gpu_after_optimizations.fdo_profile", "profile"),
        ("module_0001.jit_f.gpu_executable_proto.txt", "executable"),
        ("buffer_debug_log.module_0001.jit_f.execution_0000.txt", "debug-log"),
        ("module_0001.jit_f.cudnn_fusion_x.json", "json"),
        ("jit_f.schedule.txt", "schedule"),
    ],
)
def test_a_name_decides_where_a_text_says_little(name: str, sort: str) -> None:
    found = recognise(b"a line of words\n", name)
    assert found is not None
    assert found.id == sort


def test_every_file_of_real_dumps_is_recognised() -> None:
    root = corpus_dir()
    unknown = []
    for top in ("dumps", "public", "snippets"):
        for path in sorted((root / top).rglob("*")):
            if path.is_file():
                sort = sort_of(path)
                if sort is not None and sort.id in ("binary", "text", "mlir", "proto", "proto-text"):
                    unknown.append(path.name)
    # A list of the others, and a hint of another program.
    assert [name for name in unknown if not name.startswith(("manifest", "54_"))] == []
