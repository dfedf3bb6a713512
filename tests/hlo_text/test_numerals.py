"""Numbers that a damaged text has: none of them ends a command, or makes its answer longer than a terminal."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.cli import main
from hlo_tui.hlo.numerals import LARGEST, number_of, product
from hlo_tui.hlo.shape import parse_shape
from hlo_tui.replay.memory import parse_size

LONG = "9" * 5000
WIDE = f"f32[{','.join(['9' * 18] * 24)}]"
TEXT = """HloModule m, is_scheduled=true, input_output_alias={{ {{{n}}}: (0, {{{n}}}, may-alias) }}, \
buffer_donor={{ (0, {{{n}}}) }}

inner {{
  a = {t} parameter({n})
  i = f32[2] get-tuple-element(a), index={n}
  ROOT c = {t} copy(a)
}}

body {{
  b = {t} parameter({n})
  ROOT f = {t} fusion(b), kind=kLoop, calls=inner
}}

ENTRY e {{
  p = {t} parameter({n})
  x = {t} fusion(p), kind=kLoop, calls=inner
  w = {t} while(x), condition=body, body=body, backend_config={{"known_trip_count":{{"n":"{n}"}}}}
  d = f32[2] dot(w, w), lhs_contracting_dims={{{n}}}, rhs_contracting_dims={{0}}
  q = {t} custom-call(p, x), custom_call_target="t", output_to_operand_aliasing={{{{{n}}}: (0, {{}})}}
  ROOT r = ({t}, {t}) tuple(q, p)
}}
"""


@given(st.text())
def test_any_text_is_a_number_or_none(text: str):
    found = number_of(text)
    assert found is None or (text.strip().isdigit() and found == int(text))


@given(st.lists(st.integers(0, 10**18)))
def test_a_product_has_room_in_64_bits(sizes: list[int]):
    # What is zero stays so, wherever the zero stands.
    assert product(sizes) == min(math.prod(sizes), LARGEST)


def test_a_size_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="no size"):
        parse_size("9" * 400)
    assert parse_size("12.5 GB") == 12_500_000_000


def test_a_shape_that_nothing_can_have_has_a_size_that_can_be_counted_with():
    shape, _ = parse_shape(WIDE)
    assert shape.element_count == LARGEST
    assert math.isfinite(float(shape.byte_size) ** 5)


@pytest.mark.parametrize("number", [LONG, "1 2", "²", "0", "٣", "9" * 18, "", "-1"], ids=repr)
@pytest.mark.parametrize("shape", ["f32[2]", WIDE], ids=["small", "wide"])
def test_no_number_in_a_text_ends_a_command(number: str, shape: str, tmp_path: Path, capsys):
    path = tmp_path / "m.hlo"
    path.write_text(TEXT.format(n=number, t=shape))
    for command in (
        ["show", str(path)],
        ["show", str(path), "p"],
        ["memory", str(path)],
        ["memory", str(path), "--at", "d"],
        ["cost", str(path)],
        ["tags", str(path)],
        ["graph", str(path), "x", "--open"],
        ["extract", str(path), "d", "--depth", "all"],
        ["extract", str(path), "inner/"],
        ["recompiles", str(path)],
        ["diff", str(path), str(path)],
    ):
        assert main(command) in (0, 1, 2), command
    capsys.readouterr()
    for command in ("cost", "memory"):
        assert main([command, str(path), "--json"]) == 0
        json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_loops_in_loops_run_a_number_of_times_that_can_be_written(tmp_path: Path, capsys):
    depth = 40
    loops = [
        f"b{at} {{\n  p{at} = f32[2] parameter(0)\n"
        f"  ROOT w{at} = f32[2] while(p{at}), condition=c, body=b{at + 1}, "
        f'backend_config={{"known_trip_count":{{"n":"{"9" * 15}"}}}}\n}}\n'
        for at in range(depth)
    ]
    text = "\n".join(
        [
            "HloModule m\n",
            "c {\n  q = f32[2] parameter(0)\n  ROOT t = pred[] constant(true)\n}\n",
            f"b{depth} {{\n  l = f32[2] parameter(0)\n  ROOT n = f32[2] negate(l)\n}}\n",
            *reversed(loops[1:]),
            f"ENTRY {loops[0]}",
        ]
    )
    path = tmp_path / "loops.hlo"
    path.write_text(text)
    assert main(["cost", str(path), "--json"]) == 0
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
