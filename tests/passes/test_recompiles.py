"""Why functions were compiled again, on the dumps of our own programs and on made ones."""

from __future__ import annotations

from pathlib import Path

from hlo_tui.dump import listing
from hlo_tui.passes import recompiles
from hlo_tui.passes.recompiles import CACHED, FINISHED, UNFINISHED, Compilation, Reason
from tests.passes.dumped import PASSES

BEFORE, AFTER = "before_optimizations.txt", "cpu_after_optimizations.txt"


def compilations(root: Path, name: str) -> tuple[Compilation, ...]:
    (found,) = (one for one in recompiles.functions(listing.load(root)) if one.name == name)
    return found.compilations


def module(constant: str = "2", opcode: str = "multiply", sharding: str = "", alias: str = "") -> str:
    return f"""HloModule jit_f{alias}, entry_computation_layout={{(f32[4]{{0}})->f32[4]{{0}}}}

ENTRY %main (x: f32[4]) -> f32[4] {{
  %x = f32[4]{{0}} parameter(0){sharding}, metadata={{op_name="x"}}
  %c = f32[] constant({constant})
  %b = f32[4]{{0}} broadcast(%c), dimensions={{}}
  ROOT %y = f32[4]{{0}} {opcode}(%x, %b)
}}
"""


def dumped(root: Path, *modules: str) -> tuple[Compilation, ...]:
    for number, text in enumerate(modules):
        for stage in (BEFORE, AFTER):
            (root / f"module_{number:04}.jit_f.{stage}").write_text(text)
    return compilations(root, "jit_f")


def test_arguments_and_donation_of_our_own_program() -> None:
    found = compilations(PASSES, "jit_again")
    assert [one.state for one in found] == [FINISHED] * 4
    assert found[0].reasons == ()
    assert found[1].reasons == (Reason("argument shape", "0 x", "f32[3]", "f32[5]"),)
    assert found[2].reasons == (Reason("argument type", "0 x", "f32[5]", "s32[5]"),)
    assert [reason.kind for reason in found[3].reasons] == ["argument type", "donated"]
    assert found[3].reasons[1].was == ""


def test_nothing_changed(tmp_path: Path) -> None:
    _, second = dumped(tmp_path, module(), module())
    assert [reason.kind for reason in second.reasons] == ["nothing"]
    assert second.same_as == 0


def test_a_constant_changed(tmp_path: Path) -> None:
    _, second = dumped(tmp_path, module("2"), module("3"))
    assert second.reasons == (Reason("constants", "c", "2", "3"),)


def test_another_program(tmp_path: Path) -> None:
    _, second = dumped(tmp_path, module(), module(opcode="add"))
    assert [(reason.kind, reason.what) for reason in second.reasons] == [("program", "+0 -0 ~1 instructions")]


def test_sharding_and_an_earlier_one_again(tmp_path: Path) -> None:
    sharded = module(sharding=", sharding={devices=[2]<=[2]}")
    _, second, third = dumped(tmp_path, module(), sharded, module())
    assert second.reasons == (Reason("argument sharding", "0 x", "", "{devices=[2]<=[2]}"),)
    assert [reason.kind for reason in third.reasons] == ["argument sharding"]
    assert third.same_as == 0


def test_flags_and_compile_options(tmp_path: Path) -> None:
    for number, (flag, option) in enumerate((("true", "1"), ("false", "2"))):
        text = f'xla_cpu_enable_fast_math: {flag}\nxla_dump_to: "{number}"\n'
        (tmp_path / f"module_{number:04}.jit_f.debug_options").write_text(text)
        folder = tmp_path / f"module_{number:04}.jit_f"
        folder.mkdir()
        text = f"executable_build_options {{\n  num_replicas: {option}\n  debug_options {{\n  }}\n}}\n"
        (folder / "compile_options.textproto").write_text(text)
    _, second = dumped(tmp_path, module(), module())
    assert second.reasons == (
        Reason("flag", "xla_cpu_enable_fast_math", "true", "false"),
        Reason("compile option", "executable_build_options.num_replicas", "1", "2"),
    )


def test_from_a_cache_and_not_finished(tmp_path: Path) -> None:
    (tmp_path / "module_0001.jit_f.before_optimizations.txt").write_text(module())
    (tmp_path / "module_0003.jit_f.after_optimizations.txt").write_text(module())
    found = compilations(tmp_path, "jit_f")
    assert [one.state for one in found] == [UNFINISHED, CACHED]
    assert found[1].reasons == ()
    text = recompiles.to_text(list(recompiles.functions(listing.load(tmp_path))))
    assert "unfinished" in text
    assert "from a compile cache" in text


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    dumped(tmp_path, module(), module())
    (tmp_path / f"module_0001.jit_f.{BEFORE}").write_bytes(b"\x00\xff\x01")
    (tmp_path / f"module_0001.jit_f.{AFTER}").write_bytes(b"\x00\xff\x01")
    first, second = compilations(tmp_path, "jit_f")
    assert (first.problem, second.same_as) == ("", None)
    told = recompiles.to_json(list(recompiles.functions(listing.load(tmp_path))))
    assert [one["id"] for one in told["functions"][0]["compilations"]] == [0, 1]


def test_passes_without_the_stages_around_them_are_no_unfinished_compile(tmp_path: Path) -> None:
    text = "HloModule jit_f\n\nENTRY %e (p: f32[]) -> f32[] {\n  ROOT %p = f32[] parameter(0)\n}\n"
    for step in range(2):
        (tmp_path / f"module_0001.jit_f.{step:04}.pipe.after_p{step}.before_p{step + 1}.txt").write_text(text)
    (found,) = recompiles.functions(listing.load(tmp_path))
    assert [one.state for one in found.compilations] == [FINISHED]
