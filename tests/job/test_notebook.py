"""A dump in a notebook's cell: what the tables say, and a notebook that is run."""

from __future__ import annotations

import html.parser
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbclient import NotebookClient

import hlo_tui
from hlo_tui.errors import HloTuiError
from hlo_tui.job.tables import Table
from tests.corpus import DATA
from tests.dump.making import write

REPLAY = DATA / "replay"

CELLS = (
    "import sys, pathlib, hlo_tui\nD = pathlib.Path({directory!r})\nprint(hlo_tui.dump_to(D / 'all'))",
    "import jax, jax.numpy as jnp\nfrom jax.experimental.xla_metadata import set_xla_metadata\n"
    "@jax.jit\ndef step(x):\n    return set_xla_metadata(jnp.exp(x) * 2, breakpoint=True)\n"
    "snapshot = hlo_tui.capture(step, jnp.arange(3.0), dir=D / 'one')",
    "hlo_tui.show(D / 'one')",
    "hlo_tui.show(D / 'all', 'jit_step', values=False)",
    "print('textual' in sys.modules)",
)


class Cells(html.parser.HTMLParser):
    """The texts of a page's table cells, and the tags that it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self._inside = tag in ("td", "th")
        if self._inside:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1] += data


def test_a_notebook_dumps_captures_and_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    cells = [nbformat.v4.new_code_cell(cell.replace("{directory!r}", repr(str(tmp_path)))) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=180, kernel_name="python3").execute()
    shown = notebook.cells[2].outputs[0].data
    cells_shown = Cells(shown["text/html"]).found
    assert {"jit_step", 'breakpoint="true"', "stop", "first values"} <= set(cells_shown)
    # The value of the tagged operation, by numpy.
    first = [float(number) for number in cells_shown[cells_shown.index("first values") + 11].split()]
    np.testing.assert_allclose(first, 2 * np.exp(np.arange(3.0)), rtol=1e-5)
    assert "against the recorded result: match" in shown["text/plain"]
    assert notebook.cells[3].outputs[0].data["text/plain"].count("jit_step") >= 2
    assert notebook.cells[4].outputs[0].text == "False\n"


def test_modules_tags_and_values_of_a_directory() -> None:
    shown = hlo_tui.show(REPLAY, "jit_product")
    modules, tags, values = shown.tables
    assert "jit_product" in "\n".join([*(row[0] for row in modules.rows), *modules.notes])
    assert [row[:3] for row in tags.rows] == [("jit_product", 'breakpoint="true"', "mul.1")]
    # The recorded run is of the module after optimisation: the tag is on the fusion there.
    assert values.rows[0][0] == "1"
    assert float(values.rows[0][-1]) == pytest.approx(np.sin(1.0) * np.cos(1.0), rel=1e-5)
    assert repr(shown).splitlines()[0].startswith(str(REPLAY))


def test_one_file_and_stops_that_are_asked_for() -> None:
    (path,) = REPLAY.glob("module_*.jit_product.before_optimizations.txt")
    shown = hlo_tui.show(path, stops=("op:sine",))
    assert [table.title.split()[0] for table in shown.tables] == ["Tags", "Values"]
    assert shown.tables[1].rows[0][0] == "1"
    assert len(hlo_tui.show(path, values=False).tables) == 1


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(HloTuiError, match="no module"):
        hlo_tui.show(REPLAY, "jit_nothing")
    with pytest.raises(HloTuiError):
        hlo_tui.show(tmp_path / "absent")
    shown = hlo_tui.show(tmp_path)
    assert "is empty" in repr(shown)


def test_what_cannot_be_run_is_said_below(tmp_path: Path) -> None:
    text = 'HloModule f\n\nENTRY main {\n  ROOT x = f32[] nonsense(), frontend_attributes={breakpoint="true"}\n}\n'
    write(tmp_path, "module_0000.f.before_optimizations.txt", text)
    shown = hlo_tui.show(tmp_path)
    assert shown.tables[0].rows[0][0] == "f"
    assert "it did not run to its end" in " ".join(shown.tables[-1].notes)


@given(st.text(), st.text())
def test_what_comes_out_of_files_is_safe_in_a_cell_and_a_terminal(title: str, cell: str) -> None:
    table = Table(title, ("<name>",), ((cell,),), (cell,))
    assert Cells(table.html()).tags <= {"div", "b", "i", "table", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b]", Table("t", ("n",), ((cell,),)).text())


def test_a_module_with_a_name_like_a_page(tmp_path: Path) -> None:
    text = "HloModule a\n\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}\n"
    write(tmp_path, "module_0000.<script>alert(1)<.before_optimizations.txt", text)
    page = hlo_tui.show(tmp_path)._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_tables_are_plain_values() -> None:
    shown = hlo_tui.show(REPLAY, values=False)
    assert json.loads(json.dumps([table.rows for table in shown.tables]))
