from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment, Keyword, Name, Number, String

from hlo_tui.hlo.lexer import HloLexer
from tests.hlo_text.samples import HAND_WRITTEN, STEP


def test_types() -> None:
    text = (
        'ROOT %a = f32[2]{0} add(%b), to_apply=%f, metadata={op_name="x"}, frontend_attributes={k="v"}, n=1\n'
    )
    types = {value: kind for kind, value in HloLexer().get_tokens(text)}
    assert types["ROOT"] in Keyword
    assert types["f32[2]"] in Keyword.Type
    assert types["add"] in Name.Function
    assert types["%f"] in Name.Class
    assert types["op_name="] in Comment
    assert types['"x"'] in String
    assert types['k="v"'] in Name.Decorator
    assert types["1"] in Number


@given(st.text(max_size=100))
def test_nothing_is_lost(text: str) -> None:
    assert "".join(value for _, _, value in HloLexer().get_tokens_unprocessed(text)) == text


def test_hlo_is_told_from_other_text() -> None:
    assert HloLexer.analyse_text(STEP) > 0.5
    assert 0 < HloLexer.analyse_text(HAND_WRITTEN) < 0.5
    assert HloLexer.analyse_text("define void @f() {\n}\n") == 0
    assert HloLexer.analyse_text("func.func @main() {\n}\n") == 0
    assert (HloLexer.name, HloLexer.aliases, HloLexer.filenames) == ("HLO", ["hlo"], ["*.hlo"])
