"""The catalog: which files are together, in which order, and what a change does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import Changes, File
from hlo_tui.dump.modules import Module, ModuleKey, Stage
from tests.dump.making import catalog_of, file, labels, named, places


def test_stages_stand_in_the_order_of_the_compilation() -> None:
    catalog = catalog_of(
        [
            "module_0001.f.sm_9.0_gpu_after_optimizations.txt",
            "module_0001.f.0010.b.after_x.before_y.txt",
            "module_0001.f.after_spmd_partitioner.txt",
            "module_0001.f.0002.copy-insertion.after_adding_copies.txt",
            "module_0001.f.before_config_assignment.txt",
            "module_0001.f.0001.a.after_p.before_q.txt",
            "module_0001.f.before_optimizations.txt",
        ]
    )
    (module,) = catalog.modules
    assert labels(module) == [
        "before_optimizations",
        "0001.a.after_p.before_q",
        "0002.copy-insertion.after_adding_copies",
        "0010.b.after_x.before_y",
        "after_spmd_partitioner",
        "before_config_assignment",
        "sm_9.0_gpu_after_optimizations",
    ]


def test_step_numbers_are_ordered_as_numbers() -> None:
    catalog = catalog_of(f"module_0001.f.{step}.p.after_a.before_b.txt" for step in ("10000", "9999", "0002"))
    (module,) = catalog.modules
    assert [stage.point.step for stage in module.stages] == [2, 9999, 10000]


def test_tpu_stages_around_the_buffer_assignment() -> None:
    catalog = catalog_of(
        f"module_0003.S.4.{label}.txt"
        for label in (
            "after_codegen",
            "after_optimizations",
            "after_optimizations_after_buffer_assignment",
            "after_optimizations_before_buffer_assignment",
            "before_optimizations",
        )
    )
    (module,) = catalog.modules
    assert labels(module) == [
        "before_optimizations",
        "after_optimizations_before_buffer_assignment",
        "after_optimizations_after_buffer_assignment",
        "after_optimizations",
        "after_codegen",
    ]


def test_the_forms_of_one_point_are_one_stage_and_text_is_read_first() -> None:
    catalog = catalog_of(
        f"module_0001.f.before_optimizations.{form}" for form in ("dot", "html", "hlo.pb", "txt", "url")
    )
    (module,) = catalog.modules
    (stage,) = module.stages
    assert [each.name.form for each in stage.files] == ["txt", "hlo.pb", "html", "dot", "url"]
    assert stage.main.path == "module_0001.f.before_optimizations.txt"


def test_executions_are_ordered_by_time_not_by_their_falling_numbers() -> None:
    catalog = catalog_of(f"module_0001.f.snapshot.{run}.pb" for run in (-5, -6, -7))
    (module,) = catalog.modules
    assert [each.name.execution for each in module.executions] == [-5, -6, -7]


def test_a_name_under_two_numbers_is_two_modules_of_one_group() -> None:
    catalog = catalog_of(
        [
            "module_0021.jit_train_step.before_optimizations.txt",
            "module_0023.jit_train_step.after_optimizations.txt",
            "module_0022.other.before_optimizations.txt",
        ]
    )
    assert [module.id for module in named(catalog, "jit_train_step")] == [21, 23]
    assert len(catalog.modules) == 3


def test_a_dropped_name_joins_the_one_module_with_its_number() -> None:
    catalog = catalog_of(
        [
            "module_0007.jit_long.before_optimizations.txt",
            "module_0007.0001.p.after_a.before_b.txt",
            "module_0007.metadata.textproto",
        ]
    )
    (module,) = catalog.modules
    assert module.name == "jit_long"
    assert labels(module) == ["before_optimizations", "0001.p.after_a.before_b"]
    assert [each.name.kind for each in module.others] == ["metadata"]


def test_a_dropped_name_that_could_be_of_two_modules_stays_alone() -> None:
    catalog = catalog_of(
        [
            "module_0007.f.before_optimizations.txt",
            "module_0007.g.before_optimizations.txt",
            "module_0007.0001.p.after_a.before_b.txt",
        ]
    )
    assert [module.name for module in catalog.modules] == ["", "f", "g"]


def test_a_dropped_name_is_read_from_the_text_once_for_each_state() -> None:
    asked = []

    def read(text: File) -> str:
        asked.append(text.path)
        return "jit_from_the_header"

    catalog = Catalog(read)
    first = file("module_0007.before_optimizations.txt")
    catalog.apply(Changes((first,)))
    catalog.apply(Changes((file("module_0007.after_optimizations.txt"),)))
    (module,) = catalog.modules
    assert module.name == "jit_from_the_header"
    assert module.key == ModuleKey("", 7, "")
    assert named(catalog, "jit_from_the_header") == [module]
    assert asked == [first.path]
    catalog.apply(Changes((file(first.path, size=200),)))
    assert asked == [first.path, first.path]


def test_the_folder_of_a_module_is_found_by_its_name_in_hlo() -> None:
    catalog = catalog_of(
        [
            "module_0209.jit_λ/module.mlir",
            "module_0209.jit___.before_optimizations.txt",
            "module_0209.jit_λ/topology.pb",
        ]
    )
    (module,) = catalog.modules
    assert module.name == "jit___"
    assert module.key.name == "jit___"
    assert [each.name.kind for each in module.others] == ["stablehlo", "topology"]


def test_the_border_between_module_and_function_is_where_the_module_ends() -> None:
    kernel = "module_0001.jit_f.fusion.1.clone_kernel_module-post-lowering.mlir"
    alone = catalog_of([kernel])
    assert len(alone.modules) == 1
    catalog = catalog_of([kernel, "module_0001.jit_f.before_optimizations.txt"])
    (module,) = catalog.modules
    assert module.name == "jit_f"
    assert module.function_of(module.others[0]) == "fusion.1.clone_kernel_module"


def test_the_longest_module_name_that_fits_owns_the_function() -> None:
    catalog = catalog_of(
        [
            "module_0001.f.before_optimizations.txt",
            "module_0001.f.1.before_optimizations.txt",
            "module_0001.f.1.add_kernel_module.ir-no-opt.ll",
        ]
    )
    assert [(module.name, module.count) for module in catalog.modules] == [("f", 1), ("f.1", 2)]


def test_processes_in_directories_of_their_own_are_apart() -> None:
    catalog = catalog_of(
        [
            "jit_f/hosta_11/module_0040.jit_f.before_optimizations.txt",
            "jit_f/hostb_12/module_0040.jit_f.before_optimizations.txt",
        ]
    )
    assert [(module.process, module.id) for module in catalog.modules] == [("hosta_11", 40), ("hostb_12", 40)]
    assert len(named(catalog, "jit_f")) == 2


def test_the_folder_at_the_top_is_of_the_one_process_that_has_the_module() -> None:
    paths = ["jit_f/host_11/module_0040.jit_f.before_optimizations.txt", "module_0040.jit_f/module.mlir"]
    (module,) = catalog_of(paths).modules
    assert module.count == 2
    # With two processes nobody can say whose it is.
    paths.append("jit_f/host_12/module_0040.jit_f.before_optimizations.txt")
    assert [module.count for module in catalog_of(paths).modules] == [1, 1, 1]


def test_directories_of_several_jobs_are_apart() -> None:
    catalog = catalog_of(
        ["a/module_0001.f.before_optimizations.txt", "b/module_0001.f.before_optimizations.txt"]
    )
    assert [module.key.group for module in catalog.modules] == ["a", "b"]


def test_two_programs_that_wrote_the_same_names_are_told_apart_by_their_timestamps() -> None:
    early, late = 1796026375048694, 1796026999999999
    catalog = catalog_of(
        [
            f"{early}.module_0001.f.before_optimizations.txt",
            f"{late}.module_0001.f.before_optimizations.txt",
            "module_0001.f.debug_options",
        ]
    )
    first, second = catalog.modules
    assert (first.timestamp, second.timestamp) == (early, late)
    # What carries no timestamp was overwritten by the later program.
    assert (first.count, second.count) == (1, 2)
    assert first.key.run is None


def test_a_snapshot_alone_carries_a_timestamp() -> None:
    catalog = catalog_of(
        [
            "module_0001.f.before_optimizations.txt",
            "1796026375048694.module_0001.f.execution_0000.hlo_snapshot.pb",
        ]
    )
    (module,) = catalog.modules
    assert (module.count, len(module.executions)) == (2, 1)


def test_a_module_without_a_number() -> None:
    catalog = catalog_of(f"module_jit_f.execution_{run:04d}.hlo_snapshot.pb" for run in range(3))
    (module,) = catalog.modules
    assert (module.id, module.name, len(module.executions)) == (None, "jit_f", 3)


def test_a_change_tells_which_rows_to_redraw() -> None:
    catalog = catalog_of(["module_0001.f.before_optimizations.txt", "module_0002.g.before_optimizations.txt"])
    delta = catalog.apply(Changes((file("module_0001.f.after_optimizations.txt"),)))
    assert [module.name for module in delta.changed] == ["f"]
    assert (delta.added, delta.removed, delta.loose) == ((), (), False)
    delta = catalog.apply(Changes((file("module_0003.h.before_optimizations.txt"), file("notes.txt"))))
    assert [module.name for module in delta.added] == ["h"]
    assert (delta.changed, delta.loose) == ((), True)
    delta = catalog.apply(Changes(gone=("module_0002.g.before_optimizations.txt", "never there")))
    assert delta.removed == (ModuleKey("", 2, "g"),)
    assert catalog.module(ModuleKey("", 2, "g")) is None
    assert named(catalog, "g") == []


def test_news_that_is_none_changes_nothing() -> None:
    catalog = Catalog()
    one = file("module_0001.f.before_optimizations.txt")
    assert catalog.apply(Changes((one,)))
    assert not catalog.apply(Changes((one,)))
    assert not catalog.apply(Changes(notices=("a word",)))


def test_the_same_stage_is_found_again_after_changes() -> None:
    catalog = catalog_of(["module_0001.f.before_optimizations.txt"])
    key = catalog.modules[0].key
    catalog.apply(
        Changes((file("module_0001.f.0000.p.after_a.before_b.txt"), file("module_0000.e.debug_options")))
    )
    module = catalog.module(key)
    assert isinstance(module, Module)
    stage = module.stage("before_optimizations")
    assert isinstance(stage, Stage)
    assert module.stage("no such stage") is None


NAMES = ["f", "f.1", "jit_λ", "jit___", "S.6698"]
TAILS = [
    "before_optimizations.txt",
    "before_optimizations.hlo.pb",
    "cpu_after_optimizations.txt",
    "cpu_after_optimizations-live-range.txt",
    "0001.p.after_a.before_b.txt",
    "debug_options",
    "snapshot.-4.pb",
    "fusion.1_kernel_module-post-lowering.mlir",
    "add.clone_kernel_module.ir-no-opt.ll",
]
GROUPS = ["", "run/", "f/host_1/", "f/host_2/"]
STAMPS = ["", "1796026375048694.", "1796026999999999."]


@st.composite
def a_path(draw: st.DrawFn) -> str:
    group, stamp, number = (
        draw(st.sampled_from(GROUPS)),
        draw(st.sampled_from(STAMPS)),
        draw(st.integers(1, 2)),
    )
    name = draw(st.sampled_from(["", *NAMES]))
    inner = f"module_{number:04d}.{name}" if name else f"module_{number:04d}"
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return f"{group}{inner}/module.mlir"
    if kind == 1:
        return f"{group}shardy/{inner}/01.before_propagation.mlir"
    if kind == 2:
        return draw(st.sampled_from(["notes.txt", "jax_ir0001_jit_f_compile.mlir", "job.log", "module_f.x"]))
    return f"{group}{stamp}{inner}.{draw(st.sampled_from(TAILS))}"


def content(catalog: Catalog) -> tuple[list[Module], list[File], list[File]]:
    return catalog.modules, catalog.other, catalog.unrecognised


@given(st.lists(a_path(), unique=True, max_size=40), st.data())
def test_any_order_and_any_batches_give_what_one_walk_gives(paths: list[str], data: st.DataObject) -> None:
    final = {path: file(path, size=index + 1, mtime=index) for index, path in enumerate(paths)}
    whole = Catalog()
    whole.apply(Changes(tuple(final.values())))
    assert places(whole) == sorted(final)

    catalog = Catalog()
    rows: dict[ModuleKey, Module] = {}
    passing = data.draw(st.lists(a_path(), max_size=5))
    events: list[File | str] = [file(path, size=999) for path in paths] + [file(path) for path in passing]
    events = data.draw(st.permutations(events))
    last: list[File | str] = [*final.values(), *(path for path in passing if path not in final)]
    events += data.draw(st.permutations(last))
    while events:
        count = min(len(events), data.draw(st.integers(1, 9)))
        batch = {one if isinstance(one, str) else one.path: one for one in events[:count]}
        del events[:count]
        present = tuple(one for one in batch.values() if isinstance(one, File))
        gone = tuple(one for one in batch.values() if isinstance(one, str))
        delta = catalog.apply(Changes(present, gone))
        for key in delta.removed:
            del rows[key]
        assert not {module.key for module in delta.added} & rows.keys()
        assert {module.key for module in delta.changed} <= rows.keys()
        rows.update({module.key: module for module in (*delta.added, *delta.changed)})
        assert rows == {module.key: module for module in catalog.modules}
    assert content(catalog) == content(whole)
