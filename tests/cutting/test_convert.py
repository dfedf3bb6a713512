"""Forms of modules: there and back jaxlib finds the same module, and what gets lost is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlo_tui.cli import main
from hlo_tui.cutting import forms
from hlo_tui.cutting.convert import Converted, convert, write
from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.hlo.loading import read_proto
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.passes.engine import Engine
from hlo_tui.replay.signedzeros import keep_signs
from tests.corpus import DATA, corpus_dir
from tests.hlo_proto.xla_child import ask, without_config, without_frames

STEP = DATA / "step"
# Another part of XLA's configuration that only the text has.
_CONFIG = ", alias_passthrough_params=true"
_CHILD = """
import json, sys
from jaxlib import _hlo

for line in sys.stdin:
    text, large = json.loads(line)
    options = _hlo.HloPrintOptions()
    options.print_large_constants = large
    try:
        module = _hlo.hlo_module_from_text(text)
        said = [module.to_string(options)]
        # Names that stand in several computations are numbered anew, in the order in which they are read.
        options.canonicalize_instruction_names = options.canonicalize_computations = True
        options.print_program_shape = False
        said.append(module.to_string(options))
    except Exception as error:
        said = None
    print(json.dumps(said), flush=True)
"""


def computations(text: str | None) -> list[str]:
    """The parts of a module's text: which computation comes first means nothing."""
    assert text is not None
    return sorted(text.split("\n\n"))


class Judge:
    """jaxlib in a child process, a new one where it ended over a text."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None

    def read(self, text: bytes, large: bool) -> str | None:
        """What jaxlib prints for a text; None where it does not accept it."""
        found = self.both(text, large)
        return None if found is None else found[0]

    def both(self, text: bytes, large: bool) -> tuple[str, list[str]] | None:
        """The same, and its parts without the names."""
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps([text.decode("utf-8", "replace"), large]) + "\n")
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.close()
            return None
        said = json.loads(answer)
        if said is None:
            return None
        exact, nameless = (without_frames(without_config(one)).replace(_CONFIG, "", 1) for one in said)
        return exact, computations(nameless)

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


def there_and_back(path: Path, judge: Judge, engine: Engine, scratch: Path) -> str:
    """Text to proto to text: "equal", or why it could not be judged."""
    text = path.read_bytes()
    large = b"constant({...})" not in text
    before = judge.both(keep_signs(text), large)
    if before is None:
        return "jaxlib does not accept it"
    try:
        made = convert(path, forms.PROTO, engine=engine)
    except EngineError as error:
        return f"not converted: {error.title}"
    proto = scratch / "made.hlo.pb.gz"
    write(made, proto)
    back = convert(proto, forms.TEXT)
    after = judge.both(keep_signs(back.data), large)
    assert after is not None
    if after[0] == before[0]:
        return "equal"
    assert after[1] == before[1], path
    return "equal but for numbers in names"


def test_text_to_proto_to_text_is_the_same_module(judge: Judge, engine: Engine, tmp_path: Path):
    files = [*STEP.glob("*.txt"), *(DATA / "replay").glob("*.txt"), *(DATA / "passes").glob("*.txt")]
    files = [path for path in sorted(files) if path.read_bytes().startswith(b"HloModule")]
    outcomes = Counter(there_and_back(path, judge, engine, tmp_path) for path in files[::2])
    assert set(outcomes) == {"equal"}, outcomes
    assert outcomes["equal"] > 30


def test_real_text_to_proto_to_text_is_the_same_module(judge: Judge, engine: Engine, tmp_path: Path):
    step = int(os.environ.get("HLO_TUI_EACH", "25"))
    files = sorted(corpus_dir().rglob("*"))
    files = [path for path in files if path.is_file() and path.read_bytes()[:9] == b"HloModule"]
    outcomes = Counter(there_and_back(path, judge, engine, tmp_path) for path in files[::step])
    same = outcomes["equal"] + outcomes["equal but for numbers in names"]
    assert same > 0.8 * sum(outcomes.values()), outcomes


@pytest.mark.parametrize(
    "name",
    [
        "jit_step.before_optimizations.hlo.pb",
        "jit_step.cpu_after_optimizations.hlo.pb.gz",
        "jit_step.hlo_unoptimized_snapshot.pb",
    ],
)
def test_every_proto_form_gives_the_text_of_the_module(name: str, judge: Judge, tmp_path: Path):
    ((said, _),) = ask(("proto", read_proto(STEP / name).module.SerializeToString()))
    expected = computations(without_frames(without_config(said)))
    assert computations(judge.read(keep_signs(convert(STEP / name, forms.TEXT).data), True)) == expected
    out = tmp_path / "made.textproto"
    write(convert(STEP / name, forms.TEXT_PROTO), out)
    assert computations(judge.read(keep_signs(convert(out, forms.TEXT).data), True)) == expected


def test_negative_zeros_keep_their_signs(engine: Engine, tmp_path: Path):
    path = tmp_path / "zero.hlo"
    path.write_text(
        "HloModule m\n\nENTRY e {\n  %c = c64[1]{0} constant({(-0, -0)})\n"
        '  ROOT %z = f32[3]{0} constant({-0, 0, -1}), metadata={op_name="a -0 , b"}\n}\n'
    )
    made = pb.HloProto.FromString(convert(path, forms.PROTO, engine=engine).data)
    constants = {one.name: one.literal for one in made.hlo_module.computations[0].instructions}
    assert [str(value) for value in constants["z"].f32s] == ["-0.0", "0.0", "-1.0"]
    assert [str(value) for value in constants["c"].c64s] == ["-0.0", "-0.0"]
    assert b"-0" in convert(path, forms.TEXT).data
    (root,) = [i for i in made.hlo_module.computations[0].instructions if i.name == "z"]
    assert root.metadata.op_name == "a -0 , b"


def test_constants_without_values_have_none_in_the_proto(engine: Engine, tmp_path: Path):
    path = tmp_path / "elided.hlo"
    path.write_text("HloModule m\n\nENTRY e {\n  ROOT %z = f32[30]{0} constant({...})\n}\n")
    made = convert(path, forms.PROTO, engine=engine)
    (instruction,) = pb.HloProto.FromString(made.data).hlo_module.computations[0].instructions
    assert not instruction.HasField("literal")
    assert any("no values" in words for words in made.lost)


def test_devices_of_the_header_are_kept(engine: Engine, tmp_path: Path):
    path = tmp_path / "devices.hlo"
    path.write_text(
        "HloModule m, replica_count=2, num_partitions=4\n\nENTRY e {\n  ROOT %z = f32[] constant(1)\n}\n"
    )
    made = convert(path, forms.PROTO, engine=engine)
    assert made.lost == ()
    proto = tmp_path / "devices.hlo.pb"
    write(made, proto)
    assert convert(proto, forms.TEXT).data.startswith(b"HloModule m, ")
    head = convert(proto, forms.TEXT).data.split(b"\n", 1)[0]
    assert b"replica_count=2" in head
    assert b"num_partitions=4" in head
    ids = [list(d.replica_device_ids) for d in read_proto(proto).module.device_assignment.computation_devices]
    assert ids == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_what_a_form_does_not_hold_is_said(engine: Engine):
    def lost(name: str, to: str) -> str:
        return "; ".join(convert(STEP / name, to, engine=engine).lost)

    assert "buffer assignment" in lost("jit_step.cpu_after_optimizations.hlo.pb", forms.TEXT)
    assert "buffer assignment" not in lost("jit_step.cpu_after_optimizations.hlo.pb", forms.PROTO)
    assert "arguments" in lost("jit_step.snapshot.0.pb", forms.PROTO)
    assert "result" in lost("jit_step.snapshot.0.pb", forms.TEXT)
    assert "layouts" in lost("jit_step.before_optimizations.txt", forms.STABLEHLO)
    assert "allow_spmd_sharding_propagation_to_output" in lost(
        "jit_step.before_optimizations.txt", forms.PROTO
    )
    assert "picture" in lost("jit_step.before_optimizations.txt", forms.DOT)


def test_stablehlo_there_and_back_is_hlo(engine: Engine, tmp_path: Path, judge: Judge):
    (path,) = (DATA / "passes").glob("*jit_tagged.before_optimizations.txt")
    mlir = tmp_path / "made.mlir"
    made = convert(path, forms.STABLEHLO, engine=engine)
    assert b"stablehlo.while" in made.data
    write(made, mlir)
    back: Converted = convert(mlir, forms.TEXT, engine=engine)
    assert back.source == forms.STABLEHLO
    text = judge.read(back.data, True)
    assert text is not None
    assert 'breakpoint="true"' in text
    module = pb.HloProto.FromString(convert(mlir, forms.PROTO, engine=engine).data).hlo_module
    opcodes = Counter(one.opcode for c in module.computations for one in c.instructions)
    original = pb.HloProto.FromString(convert(path, forms.PROTO, engine=engine).data).hlo_module
    for opcode in ("add", "tanh", "while", "reduce", "multiply"):
        there = sum(one.opcode == opcode for c in original.computations for one in c.instructions)
        assert opcodes[opcode] == there > 0, opcode


def test_endings_tell_the_form(tmp_path: Path):
    for name, form in (
        ("a.hlo.pb.gz", forms.PROTO), ("a.txt", forms.TEXT), ("a.textproto", forms.TEXT_PROTO),
        ("a.mlir", forms.STABLEHLO), ("a.dot", forms.DOT), ("a.HTML", forms.HTML),
    ):  # fmt: skip
        assert forms.form_of(Path(name)) == form
    for name in ("a", "a.xyz", ".gz", ""):
        with pytest.raises(HloTuiError):
            forms.form_of(Path(name))
    assert forms.found_form(STEP / "jit_step.snapshot.0.pb") == forms.PROTO


def test_bad_input_is_an_error_and_never_the_end(engine: Engine, tmp_path: Path):
    for number, data in enumerate(
        (b"", b"hello", b"HloModule m\n\nENTRY e {\n", b"module {", b"\x0a\xff\xff", b"\0" * 100)
    ):
        path = tmp_path / f"bad{number}"
        path.write_bytes(data)
        for to in (forms.PROTO, forms.TEXT_PROTO, forms.STABLEHLO, forms.DOT):
            with pytest.raises(HloTuiError):
                convert(path, to, engine=engine)


def test_the_command_writes_and_says_what_is_lost(tmp_path: Path, capsys):
    out = tmp_path / "out.hlo"
    source = STEP / "jit_step.cpu_after_optimizations.hlo.pb"
    assert main(["convert", str(source), str(out), "--json"]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert (told["from"], told["to"], told["path"]) == ("proto", "text", str(out))
    assert told["bytes"] == out.stat().st_size
    assert "the buffer assignment" in told["lost"]
    assert "not kept: the buffer assignment" in captured.err
    assert main(["convert", str(source), str(tmp_path / "out.xyz")]) == 2
    assert main(["convert", str(out), str(out)]) == 2
    for name in ("out.svg", "out.html"):
        for one in (source, out):
            assert main(["convert", str(one), str(tmp_path / name)]) == 0
            assert b"<svg" in (tmp_path / name).read_bytes()
    assert main(["convert", str(tmp_path / "none"), str(out)]) == 2
    assert main(["convert", str(source), str(tmp_path / "no" / "where.hlo")]) == 2
