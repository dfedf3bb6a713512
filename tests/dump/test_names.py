"""Names as the writers make them, each with what the grammar says of it, written down by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.dump.names import canonical, parse_path
from hlo_tui.dump.suffixes import Role

TENSORFLOW = "a_inference_train_step_75__XlaMustCompile_true_config_proto_135_executor_type_111_.5"

STAGES: list[tuple[str, dict[str, Any]]] = [
    # path; id, module, form; then the dump point
    (
        "module_0000.jit_f.before_optimizations.txt",
        {"id": 0, "module": "jit_f", "form": "txt", "label": "before_optimizations", "kind": "before"},
    ),
    (
        "module_0001.jit_f.1.cpu_after_optimizations.hlo.pb",
        {"module": "jit_f.1", "form": "hlo.pb", "kind": "after", "target": "cpu", "step": None},
    ),
    (
        "module_12345.jit_f.clone.sm_9.0_gpu_after_optimizations.hlo.pb.gz",
        {"id": 12345, "module": "jit_f.clone", "form": "hlo.pb.gz", "kind": "after", "target": "sm_9.0_gpu"},
    ),
    (
        "module_0002.jit_g.sm_10.0a_gpu_after_optimizations.txt",
        {"module": "jit_g", "label": "sm_10.0a_gpu_after_optimizations", "target": "sm_10.0a_gpu"},
    ),
    (
        "module_0002.jit_g.gfx942_gpu_after_optimizations.top_level.html",
        {"module": "jit_g", "form": "top_level.html", "target": "gfx942_gpu"},
    ),
    (
        "module_0003.jit_g.after_optimizations.txt",
        {"module": "jit_g", "kind": "after", "label": "after_optimizations", "target": None},
    ),
    (
        "module_0003.SyncTensorsGraph.4.after_optimizations_before_buffer_assignment.txt",
        {
            "module": "SyncTensorsGraph.4",
            "kind": "after",
            "label": "after_optimizations_before_buffer_assignment",
        },
    ),
    (
        "module_0003.SyncTensorsGraph.4.after_optimizations_after_buffer_assignment.txt",
        {"module": "SyncTensorsGraph.4", "kind": "after"},
    ),
    ("module_0003.SyncTensorsGraph.4.after_codegen.txt", {"module": "SyncTensorsGraph.4", "kind": "after"}),
    ("module_0004.jit_h.after_spmd_partitioner.txt", {"module": "jit_h", "kind": "between"}),
    ("module_0004.jit_h.before_config_assignment.txt", {"module": "jit_h", "kind": "between"}),
    ("module_0004.jit_h.before_optimization.txt", {"module": "jit_h", "kind": "before"}),
    ("module_0004.jit_h.after_optimization.txt", {"module": "jit_h", "kind": "after"}),
    ("module_0004.jit_h.before_something_new.dot", {"module": "jit_h", "kind": "between", "form": "dot"}),
    ("module_0004.jit_h.before_optimizations.riegeli", {"module": "jit_h", "form": "riegeli"}),
    ("module_0004.jit_h.before_optimizations.url", {"module": "jit_h", "form": "url"}),
    # the module's name was too long for the file's
    ("module_0007.before_optimizations.txt", {"id": 7, "module": "", "kind": "before"}),
    (
        "module_0007.0012.fusion.after_a.before_b.txt",
        {"id": 7, "module": "", "kind": "pass", "step": 12, "pipeline": "fusion"},
    ),
    # builds that know their change list
    (
        "module_0965.reactant_loop_.cl_878201828.after_optimizations.txt",
        {"module": "reactant_loop_", "changelist": 878201828, "kind": "after"},
    ),
    # with --xla_dump_include_timestamp
    (
        "1796026375048694.module_0014.jit_deco.before_optimizations.txt",
        {"timestamp": 1796026375048694, "id": 14, "module": "jit_deco", "tag": ""},
    ),
    # between passes
    (
        "module_0003.jit_f.0017.simplification.after_algsimp.before_dce.txt",
        {
            "module": "jit_f",
            "kind": "pass",
            "label": "0017.simplification.after_algsimp.before_dce",
            "step": 17,
            "pipeline": "simplification",
            "after": "algsimp",
            "before": "dce",
        },
    ),
    (
        "module_0003.SyncTensorsGraph.6698.0004.HLO_passes_through_layout_assignment.after_pipeline-start"
        ".before_batched_gather_scatter_normalizer.hlo.pb",
        {
            "module": "SyncTensorsGraph.6698",
            "step": 4,
            "pipeline": "HLO_passes_through_layout_assignment",
            "after": "pipeline-start",
            "before": "batched_gather_scatter_normalizer",
        },
    ),
    (
        "module_0003.jit_f.0011.HLO_passes_after_layout_assignment.after_pipeline-start"
        ".before_after_layout_assignment.txt",
        {
            "step": 11,
            "pipeline": "HLO_passes_after_layout_assignment",
            "after": "pipeline-start",
            "before": "after_layout_assignment",
        },
    ),
    (
        "module_0003.jit_f.0012.after_layout_assignment.after_pipeline-start.before_pipeline-end.txt",
        {
            "step": 12,
            "pipeline": "after_layout_assignment",
            "after": "pipeline-start",
            "before": "pipeline-end",
        },
    ),
    (
        "module_0003.jit_f.123456.SubbytePacker_pipeline.after_a_b.before_sub-byte-size-setter.txt",
        {"step": 123456, "pipeline": "SubbytePacker_pipeline", "after": "a_b"},
    ),
    # in the middle of a pass
    (
        "module_0003.jit_f.0042.copy-insertion.after_removing_unnecessary_copies.txt",
        {
            "module": "jit_f",
            "kind": "within",
            "step": 42,
            "pipeline": None,
            "during": "copy-insertion",
            "after": "after_removing_unnecessary_copies",
            "before": None,
        },
    ),
    (
        f"module_0000.{TENSORFLOW}.0042.copy-insertion.after_adding_special-case_copies.txt",
        {"module": TENSORFLOW, "kind": "within", "step": 42},
    ),
    # in directories of their own
    (
        "jit_f/vm_16203/module_0040.jit_f.before_optimizations.txt",
        {"group": "jit_f/vm_16203", "id": 40, "module": "jit_f", "kind": "before"},
    ),
]

# path; role, kind, group, id, module, and what else the name says
FILES: list[tuple[str, dict[str, Any]]] = [
    (
        "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt",
        {"kind": "buffer-assignment", "module": "jit_f", "label": "cpu_after_optimizations"},
    ),
    (
        "module_0001.jit_f.cpu_after_optimizations-buffer-assignment-values.txt",
        {"kind": "buffer-assignment-values", "module": "jit_f"},
    ),
    (
        "module_0001.jit_f.sm_8.0_gpu_after_optimizations-memory-usage-report.pb.gz",
        {"kind": "memory-usage-report", "module": "jit_f", "label": "sm_8.0_gpu_after_optimizations"},
    ),
    ("module_0001.jit_f.cpu_after_optimizations-live-range.txt", {"kind": "live-range", "module": "jit_f"}),
    ("module_0001.jit_f.before_optimizations.fdo_profile", {"kind": "fdo-profile", "module": "jit_f"}),
    ("module_0001.jit_f.1.debug_options", {"kind": "debug-options", "module": "jit_f.1"}),
    ("module_0001.jit_f.config.pbtxt", {"kind": "hlo-config", "module": "jit_f"}),
    ("module_0007.metadata.textproto", {"kind": "metadata", "id": 7, "module": ""}),
    ("module_0001.g.execution_options.txt", {"kind": "execution-options", "module": "g"}),
    ("module_0001.g.flagfile", {"kind": "flagfile", "module": "g"}),
    ("module_0001.g.hlo_module_config.txt", {"kind": "hlo-config", "module": "g"}),
    ("module_0001.g.target_arguments.txt", {"kind": "target-arguments", "module": "g"}),
    ("module_0001.g.tpu_comp_env.txt", {"kind": "tpu-comp-env", "module": "g"}),
    ("module_0001.g.transfer_stats.txt", {"kind": "transfer-stats", "module": "g"}),
    ("module_0001.g.thunk_sequence.txt", {"kind": "thunk-sequence", "module": "g"}),
    ("module_0001.g.thunk_sequence_after_thunk_passes.txt", {"kind": "thunk-sequence", "module": "g"}),
    ("module_0001.g.thunk_metadata.pb", {"kind": "thunk-metadata", "module": "g"}),
    ("module_0001.g.gpu_target_config.pbtxt", {"kind": "gpu-target-config", "module": "g"}),
    ("module_0001.g.autotune_results.pbtxt", {"kind": "autotune-results", "module": "g"}),
    ("module_0001.g.priority_fusion_dump.txt", {"kind": "fusion-decisions", "module": "g"}),
    ("module_0001.g.gpu_executable_proto.pb", {"kind": "gpu-executable", "module": "g"}),
    ("module_0001.g.ir-no-opt.ll", {"kind": "llvm-ir", "module": "g"}),
    ("module_0001.g.3.ir-with-opt.ll", {"kind": "llvm-ir", "module": "g"}),
    (
        "module_0001.g.__compute_module_part_02.ir-with-opt.ll",
        {"kind": "llvm-ir", "module": "g", "rest": "g.__compute_module_part_02"},
    ),
    (
        "module_0001.g.1.dot_elemental_kernel_module.ir-no-opt.ll",
        {"kind": "llvm-ir", "module": "g.1", "rest": "g.1.dot_elemental_kernel_module"},
    ),
    ("module_0001.g.ptx", {"kind": "ptx", "module": "g"}),
    ("module_0001.g.0.ptx", {"kind": "ptx", "module": "g"}),
    (
        "module_0001.g.2.obj-file.dot_general.3_elemental_kernel_module.o",
        {"kind": "object-file", "module": "g.2"},
    ),
    ("module_0001.g.obj-file.o", {"kind": "object-file", "module": "g"}),
    (
        "module_0005.a__.5.multiply_subtract_fusion.1_kernel_module-post-lowering.mlir",
        {
            "kind": "kernel-mlir",
            "module": "a__.5",
            "rest": "a__.5.multiply_subtract_fusion.1_kernel_module",
        },
    ),
    ("module_0001.g.loop_fusion.mlir-passes.log", {"kind": "mlir-passes", "module": "g"}),
    ("module_0001.g.cudnn_fusion_dot.5.json", {"kind": "cudnn-graph", "module": "g"}),
    ("module_0001.g.1.autotuner_3.dot.5.before.txt", {"kind": "autotuned-instruction", "module": "g.1"}),
    ("module_0001.S.6698.autotuner_3.dot.after.txt", {"kind": "autotuned-instruction", "module": "S.6698"}),
    (
        "module_0001.g.triton_fusion_numerics_verifier_failed_7.hlo",
        {"kind": "fusion-hlo", "module": "g"},
    ),
    ("module_0001.g.gemm_fusion_dot.hlo", {"kind": "fusion-hlo", "module": "g"}),
    ("module_0001.g.gemm_fusion_dot.ttir.txt", {"kind": "triton-ir", "module": "g"}),
    ("module_0001.g.gemm_fusion_dot.before_validation.ttir.txt", {"kind": "triton-ir", "module": "g"}),
    (
        "main.1.module_0001.jit_f._fusion.html",
        {"kind": "fusion-explorer", "module": "jit_f", "tag": "main.1", "timestamp": None},
    ),
    ("region_0.2.module_0001.jit_f._fusion.pyz", {"kind": "fusion-explorer", "tag": "region_0.2"}),
    (
        "buffer_debug_log.module_0001.jit_f.execution_0003.pb",
        {"kind": "buffer-debug-log", "tag": "buffer_debug_log", "execution": 3, "module": "jit_f"},
    ),
    ("module_0001.jit_f.something_of_next_year.bin", {"kind": "other", "module": "jit_f"}),
    (
        "module_0070.jit_spmd/module.mlir",
        {"kind": "stablehlo", "id": 70, "module": "jit_spmd", "folder": True},
    ),
    ("module_0070.jit_spmd/compile_options.textproto", {"kind": "compile-options", "module": "jit_spmd"}),
    ("module_0070.jit_spmd/topology.pb", {"kind": "topology", "module": "jit_spmd", "group": ""}),
    ("a/b/module_0070.jit_λ/topology.pb", {"kind": "topology", "module": "jit_λ", "group": "a/b"}),
    (
        "run/shardy/module_0070.jit_spmd/03.after_partitioner_passes.mlir",
        {"kind": "shardy", "id": 70, "module": "jit_spmd", "group": "run"},
    ),
]

EXECUTIONS: list[tuple[str, dict[str, Any]]] = [
    (
        "module_0022.jit_f.snapshot.-1470547512.pb",
        {"kind": "snapshot", "module": "jit_f", "execution": -1470547512, "form": "pb"},
    ),
    ("module_0022.jit_f.1.snapshot.2.pb", {"kind": "snapshot", "module": "jit_f.1", "execution": 2}),
    (
        "1796026375048694.module_0022.jit_f.execution_0004.hlo_snapshot.pb",
        {"kind": "snapshot", "id": 22, "module": "jit_f", "execution": 4, "timestamp": 1796026375048694},
    ),
    (
        "module_jit_f.1.execution_0004.hlo_snapshot.pb",
        {"kind": "snapshot", "id": None, "module": "jit_f.1", "execution": 4},
    ),
    (
        "module_0032.jit_f.execution_0000.hlo_unoptimized_snapshot.txt",
        {"kind": "unoptimized-snapshot", "module": "jit_f", "execution": 0, "form": "txt"},
    ),
    (
        "module_0032.jit_f.execution_12345.hlo_unoptimized_snapshot.pb",
        {"kind": "unoptimized-snapshot", "module": "jit_f", "execution": 12345, "form": "pb"},
    ),
]

FREE: list[tuple[str, dict[str, Any]]] = [
    ("jax_ir0009_jit_multiply_compile.mlir", {"kind": "jax-stablehlo", "module": "jit_multiply"}),
    (
        "jax_ir0012_jit_f_before_refine_polymorphic_shapes.mlir",
        {"kind": "jax-stablehlo", "module": "jit_f", "tag": "before_refine_polymorphic_shapes"},
    ),
    ("jax_000013__reduce_sum.jaxpr.txt", {"kind": "jaxpr", "module": "_reduce_sum"}),
    ("jax_000000_<lambda>.jaxpr.html", {"kind": "jaxpr-html", "module": "<lambda>"}),
    ("jax_000006_ctx.eqn_count_pprof", {"kind": "equation-counts", "module": "ctx"}),
    ("jit_f.1.schedule.pb", {"kind": "schedule", "module": "jit_f.1"}),
    ("gpu_command_buffer_0x7f12.dot", {"kind": "command-buffer"}),
    ("before_mark_for_compilation_10.pbtxt", {"kind": "tensorflow-graph"}),
    ("mosaic_gpu_module_3.mlir-passes.log", {"kind": "mosaic-gpu"}),
    ("mosaic_gpu_module_3.sass_ctrl", {"kind": "mosaic-gpu"}),
    ("1705000000000-mosaic-dump-main-original.txt", {"kind": "mosaic-tpu"}),
    ("12345-pallas_tpu_kernel-79-final_bundles.txt", {"kind": "tpu-llo"}),
    ("saved.hlo", {"kind": "hlo"}),
    ("job.slow.module_0006.hlo", {"kind": "hlo", "id": None}),
    ("plugins/profile/1/jit_step.3.hlo_proto.pb", {"kind": "hlo", "group": "plugins/profile/1"}),
    ("jit__normal_5.gpu_after_optimizations.txt", {"kind": "hlo", "module": ""}),
    ("step.before_optimizations.txt", {"kind": "hlo"}),
    # What looks like a module's number is none, so it is a module of its own.
    ("module_001.jit_f.before_optimizations.txt", {"kind": "hlo", "id": None}),
    ("module_٠٠٠١.jit_f.before_optimizations.txt", {"kind": "hlo", "id": None}),
    ("module_" + "9" * 400 + ".f.before_optimizations.txt", {"kind": "hlo", "id": None}),
    ("model.MODULE_165187+d41d8cd9.hlo_module.pb", {"kind": "hlo"}),
    ("stdout.log", {"kind": "log"}),
    ("shardy/03.after_propagation.mlir", {"kind": "shardy"}),
]

UNRECOGNISED = [
    "",
    "README.md",
    "train.py",
    "core.1234",
    "module_",
    "module_0001",
    "module_001.jit_f.thunk_sequence.txt",
    "module_٠٠٠١.jit_f.thunk_sequence.txt",
    "module_" + "9" * 400 + ".f.thunk_sequence.txt",
    "before_optimizations.txt",
    "module_0001.jit_f/notes.txt",
    "\x00\udcff\n",
]


def check(path: str, role: Role, expected: dict[str, Any]) -> None:
    name = parse_path(path)
    assert name.role is role
    for field, value in expected.items():
        if field in ("label", "step", "pipeline", "after", "before", "during", "target"):
            assert name.point is not None
            assert getattr(name.point, field) == value, field
        else:
            assert getattr(name, field) == value, field


@pytest.mark.parametrize(("path", "expected"), STAGES)
def test_stage(path: str, expected: dict[str, Any]) -> None:
    check(path, Role.STAGE, expected)


@pytest.mark.parametrize(("path", "expected"), FILES)
def test_side_file(path: str, expected: dict[str, Any]) -> None:
    check(path, Role.SIDE, expected)


@pytest.mark.parametrize(("path", "expected"), EXECUTIONS)
def test_execution(path: str, expected: dict[str, Any]) -> None:
    check(path, Role.EXECUTION, expected)


@pytest.mark.parametrize(("path", "expected"), FREE)
def test_file_of_no_module(path: str, expected: dict[str, Any]) -> None:
    check(path, Role.FREE, expected)


@pytest.mark.parametrize("path", UNRECOGNISED)
def test_unrecognised(path: str) -> None:
    check(path, Role.UNRECOGNISED, {})


def test_canonical_name_replaces_each_byte_that_hlo_does_not_allow() -> None:
    # λ has two bytes in UTF-8, the two ideographs three each.
    assert canonical("jit_λ_unicode_名前") == "jit_" + "__" + "_unicode_" + "______"
    assert canonical("jit_f.1-x") == "jit_f.1-x"
    assert canonical("") == ""


# Parts as XLA makes them: module names of any shape, among them such as look like other parts.
COMPONENT = st.text("abXYZ019_-<>", min_size=1, max_size=8) | st.sampled_from(
    ["6698", "0001", "clone", "before_optimizations", "after_x", "txt", "module_0002", "execution_0001"]
)
MODULE = st.lists(COMPONENT, min_size=1, max_size=4).map(".".join)
# Pipelines and passes have no dots; a pass may be called like a pipeline that starts with "after_".
PASS = st.text("abz-_", min_size=1, max_size=10) | st.sampled_from(
    ["after_layout_assignment", "pipeline-start"]
)
NUMBER = st.integers(0, 10**17)
FORM = st.sampled_from(["txt", "hlo.pb", "hlo.pb.gz", "html", "dot", "url", "riegeli"])
NAMED = st.sampled_from(
    [
        "before_optimizations",
        "after_optimizations",
        "cpu_after_optimizations",
        "sm_9.0_gpu_after_optimizations",
    ]
)


def plain(module: str) -> bool:
    """Module names that hold no whole end of a file name themselves."""
    return not any(mark in f".{module}." for mark in (".before_", ".after_", ".module_", ".execution_", ".0"))


@given(
    NUMBER,
    MODULE,
    NAMED,
    FORM,
    st.none() | st.integers(10**15, 10**16 - 1),
    st.none() | st.integers(0, 10**9),
)
def test_a_stage_comes_apart_into_its_parts(
    number: int, module: str, stage: str, form: str, stamp: int | None, changelist: int | None
) -> None:
    prefix = "" if stamp is None else f"{stamp}."
    build = "" if changelist is None else f".cl_{changelist}"
    name = parse_path(f"{prefix}module_{number:04d}.{module}{build}.{stage}.{form}")
    assert (name.role, name.id, name.module, name.form) == (Role.STAGE, number, module, form)
    assert (name.timestamp, name.changelist) == (stamp, changelist)
    assert name.point is not None
    assert name.point.label == stage


@given(NUMBER, MODULE, NUMBER, PASS, PASS, PASS, FORM)
def test_a_pass_comes_apart_into_its_parts(
    number: int, module: str, step: int, pipeline: str, after: str, before: str, form: str
) -> None:
    name = parse_path(
        f"module_{number:04d}.{module}.{step:04d}.{pipeline}.after_{after}.before_{before}.{form}"
    )
    assert (name.id, name.module, name.form, name.kind) == (number, module, form, "pass")
    point = name.point
    assert point is not None
    assert (point.step, point.pipeline, point.after, point.before) == (step, pipeline, after, before)


@given(NUMBER, MODULE.filter(plain), NUMBER, PASS, PASS, FORM)
def test_a_moment_within_a_pass_comes_apart(
    number: int, module: str, step: int, during: str, moment: str, form: str
) -> None:
    name = parse_path(f"module_{number:04d}.{module}.{step:04d}.{during}.after_adding_{moment}.{form}")
    assert (name.id, name.module, name.kind) == (number, module, "within")
    point = name.point
    assert point is not None
    assert (point.step, point.during, point.after) == (step, during, f"after_adding_{moment}")


@given(NUMBER, MODULE, st.integers(-(2**31), 2**31 - 1))
def test_a_snapshot_comes_apart(number: int, module: str, run: int) -> None:
    name = parse_path(f"module_{number:04d}.{module}.snapshot.{run}.pb")
    assert (name.role, name.id, name.module, name.execution) == (Role.EXECUTION, number, module, run)


PIECES = st.sampled_from(
    [
        *("module_0001", "module_", ".", "..", "/", "-", "_", "0001", "x", "\n", "é", "\udcff", "9" * 30),
        *("before_optimizations", ".after_", ".before_", ".txt", ".hlo.pb", ".ll", ".o", ".mlir"),
        *(
            "-live-range",
            ".cl_",
            "jax_ir0001_",
            "shardy",
            ".execution_0001",
            ".autotuner_",
            ".pass_1.",
            "vm_12",
        ),
    ]
)


@given(st.text(max_size=60) | st.lists(PIECES, max_size=14).map("".join))
def test_any_string_is_read(path: str) -> None:
    name = parse_path(path)
    assert isinstance(name.role, Role)
    assert (name.role is Role.STAGE) <= (name.point is not None)


def test_a_long_hostile_name_is_read() -> None:
    for piece in (".0001", ".before_", ".after_", ".autotuner_1", "-pre-a", ".1", "module_0001."):
        parse_path("module_0001." + piece * 20_000 + ".txt")
