"""Whatever the bytes are: an answer or an error in words, every character in one token, and no end of it is far."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.formats import languages
from hlo_tui.formats.languages import language
from hlo_tui.formats.opening import page_of
from hlo_tui.formats.report import entry_report, entry_text, page_report, page_text
from hlo_tui.formats.sorts import recognise
from hlo_tui.hlo.source import BytesSource
from tests.formats.samples import BINARIES, TEXTS, profile

SAMPLES = [text.encode() for text in TEXTS.values()] + [*BINARIES.values(), profile()]
NAMES = st.sampled_from([
    "x", "x.txt", "a.pb", "b.jaxpr.html", "c.eqn_count_pprof", "compile_options.pb", "d.ll", "e.ptx", "k.sass",
    "module_0001.f.thunk_sequence.txt", "x.npz", "a_fusion.pyz", "a.cpu_after_optimizations-memory-usage-report.pb",
])  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file of some sort with bytes changed, cut, doubled, or put in."""
    data = bytearray(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 4)):
            case 0:
                del data[at:]
            case 1:
                data[at : at + 1] = draw(st.binary(max_size=3))
            case 2:
                data[at:at] = data[at : at + draw(st.integers(0, 200))]
            case 3:
                data[at:at] = draw(
                    st.sampled_from([b"{", b"}", b'"', b"\n", b"\xff", b"\0", b"(", b"@", b"%", b"\x1b["])
                )
            case _:
                data[at:at] = draw(st.sampled_from(SAMPLES))[: draw(st.integers(0, 300))]
    return bytes(data)


@settings(max_examples=600, deadline=None)
@given(st.one_of(damaged(), st.binary(max_size=400)), NAMES)
def test_every_reader_is_total(data: bytes, name: str) -> None:
    recognise(data, name)
    try:
        page = page_of(BytesSource(data, name))
    except HloTuiError as error:
        said = (error.title, error.message)
        page = None
    if page is None:
        assert all(said)
        return
    page.scan()
    assert page.lines is not None
    text = page.source.read(0, page.source.size)
    assert page.lines.count == text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
    said = page_text(page) + "".join(entry_text(page, entry) for entry in page.entries[:20])
    assert not any(letter < " " and letter != "\n" for letter in said)
    json.dumps([page_report(page), *(entry_report(page, entry) for entry in page.entries[:20])])
    for entry in page.entries:
        assert 0 <= entry.line <= entry.last < page.lines.count
    for line in range(min(page.lines.count, 50)):
        shown = page.text(line)
        tokens = page.language.tokenize(shown)
        assert "".join(shown[start:end] for start, end, _ in tokens) == shown
        for start, end, _ in tokens[:40]:
            page.definition_line(shown[start:end], line)


@pytest.mark.parametrize("name", languages._LANGUAGES)
@settings(max_examples=60, deadline=None)
@given(
    text=st.text(alphabet=st.sampled_from("ab%@#!^\"'\\()[]{}<>=,.:;/* \t019_-x~\u00e9\u4e2d"), max_size=120)
)
def test_tokens_cover_every_line(name: str, text: str) -> None:
    tokens = language(name).tokenize(text)
    assert "".join(text[start:end] for start, end, _ in tokens) == text


@pytest.mark.parametrize("name", languages._LANGUAGES)
@pytest.mark.parametrize(
    "piece", ['"', "(", "%a, ", "loc(", "/* ", "a.", "@", "x = ", "0x", "'", "{", "tensor<", "= a "]
)
def test_long_lines_take_no_longer_than_their_length(name: str, piece: str) -> None:
    """A pattern that takes the square of the length needs minutes here."""
    line = (piece * 40_000)[:200_000]
    language(name).tokenize(line)
    marks, counted = language(name).marks, language(name).counted
    data = (piece.encode() * 400_000)[: 1 << 20]
    for pattern in (marks, counted):
        if pattern is not None:
            sum(1 for _ in pattern.finditer(data))
            sum(1 for _ in pattern.finditer(data.replace(b" ", b"\n")))
