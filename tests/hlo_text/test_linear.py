"""Texts made to be slow: what is read is in proportion to the bytes, whatever they are.

A reader that went over its bytes again for each of them would need hours for the sizes here.
"""

from __future__ import annotations

import pytest

from hlo_tui.hlo.attributes import parse_metadata
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.outline import scan
from hlo_tui.hlo.report import module_report
from hlo_tui.hlo.source import BytesSource
from tests.hlo_text.samples import module_of

_LONG = 600_000
# So many bytes are read for a name or an opcode, whatever is there.
_NAME = 4096


class Counting(BytesSource):
    def __init__(self, text: str) -> None:
        super().__init__(text.encode(), "counting")
        self.bytes = 0

    def read(self, offset: int, length: int) -> bytes:
        data = super().read(offset, length)
        self.bytes += len(data)
        return data


def read_all(source: Counting) -> int:
    """Ask for everything in a module; gives how many instructions there are."""
    module = Module(source)
    outline = module.scan()
    module_report(module)
    for computation in outline.computations:
        module.callers(computation)
    return sum(len(module.body(computation)) for computation in outline.computations)


def test_a_word_without_end_in_metadata() -> None:
    assert parse_metadata("{" + "a" * _LONG + "}") == {}
    assert parse_metadata("{" + "a." * _LONG + "b=3}") == {"a." * _LONG + "b": 3}


@pytest.mark.parametrize(
    "piece", ["ÿa", "a", "a.", "%", "%a", "ROOT ", "a ", "'a", "/*", "(", "{", "\\", '"']
)
def test_pieces_without_end_in_a_body(piece: str) -> None:
    text = f"HloModule m\n\nENTRY e {{\n  x = f32[] add({piece * _LONG}\n}}\n"
    lines, outline = scan(BytesSource(text.encode("latin-1"), "text"))
    assert lines.count == 5
    assert outline.instructions == 1


def test_many_computations_on_one_line() -> None:
    source = Counting("".join(f"f{i} {{ a = f32[] parameter(0), to_apply=f0 }} " for i in range(6000)))
    assert read_all(source) == 6000
    # Each is read for its name a few times, never up to the end of the line.
    assert source.bytes < 6000 * 10 * _NAME


def test_many_computations_called_by_one_damaged_instruction() -> None:
    callees = "".join(f"f{i} {{\n  a = f32[] parameter(0)\n}}\n" for i in range(3000))
    calls = "".join(f", calls=f{i}" for i in range(3000))
    source = Counting(f"HloModule m\n{callees}ENTRY e {{\n  x = (f32[ fusion(a){calls}\n}}\n")
    module = Module(source)
    outline = module.scan()
    assert {outline.kind(computation) for computation in outline.computations} == {"called", "entry"}
    # Each is read for its name, and the line of the calls once.
    assert source.bytes < 3001 * 2 * _NAME + 4 * source.size


def test_many_damaged_calls_of_one_name() -> None:
    text = "f {\n}\n" * 3000 + "ENTRY e {\n" + "  x = f32[ fusion(a), calls=f\n" * 3000 + "}\n"
    source = Counting(text)
    module = Module(source)
    outline = module.scan()
    before = source.bytes
    assert [outline.kind(computation) for computation in outline.computations][:2] == ["called", "called"]
    # For each computation a few of its callers, for each of these what an instruction begins with.
    assert source.bytes - before < 3001 * 8 * 3 * _NAME


def test_many_computations_inside_of_instructions() -> None:
    call = "  x{0} = f32[] fusion(p), kind=kLoop, calls=\n  {{\n    ROOT y{0} = f32[] parameter(0)\n  }}\n"
    source = Counting("ENTRY e {\n" + "".join(call.format(i) for i in range(3000)) + "}\n")
    module = Module(source)
    outline = module.scan()
    for computation in outline.computations:
        module.callers(computation)
    asked = []
    original = type(outline.computations)._at

    def counted(computations: object, index: int) -> object:
        asked.append(index)
        return original(computations, index)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(type(outline.computations), "_at", counted)
        for i in range(0, 3000, 10):
            assert (found := module.find(f"y{i}")) is not None
            assert found.name == f"y{i}"
    # A line is in the entry and in at most one other.
    assert len(asked) <= 2 * 300


def test_what_is_kept_is_counted_and_not_added_up_again() -> None:
    module = module_of("".join(f"f{i} {{\n  a = f32[] parameter(0)\n}}\n" for i in range(500)))
    assert module.outline is not None
    for _ in range(2):
        for computation in module.outline.computations:
            module.body(computation)
    assert module._kept_bytes == sum(body.bytes for body in module._bodies.values())
    assert len(module._bodies) == 500
