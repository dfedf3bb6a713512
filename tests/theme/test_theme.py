"""Theme files: what they may say, what inherits from what, and how faults are told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.theme.roles import OVERLAYS, PARENTS, ROLES
from hlo_tui.theme.style import Style, StyleError, parse_style
from hlo_tui.theme.theme import load, names


@pytest.fixture(autouse=True)
def _own_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write(directory: Path, name: str, text: str) -> Path:
    path = directory / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_style_is_read_word_by_word():
    assert parse_style("#8FA1b3 on #111 bold not dim") == Style(
        color="#8fa1b3", background="#111111", bold=True, dim=False
    )
    assert parse_style("bright_red") == Style(color="bright_red")
    assert parse_style("on default underline") == Style(background="default", underline=True)
    assert parse_style("") == Style()


@pytest.mark.parametrize("text", ["#12345", "rgb(1,2,3)", "on", "not", "boldd", "not loud"])
def test_a_wrong_word_is_named(text):
    with pytest.raises(StyleError) as caught:
        parse_style(text)
    assert caught.value.word in text


def test_every_parent_comes_before_its_children():
    seen = []
    for role in ROLES:
        assert role == "text" or role in OVERLAYS or PARENTS[role] in seen
        seen.append(role)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("name", ["ansi16", "dark", "light"])
def test_shipped_themes_style_every_role(name):
    theme = load(name)
    assert set(theme.styles) == set(ROLES)
    for role in PARENTS:
        assert theme.styles[role].color is not None
        assert theme.styles[role].background is not None


def test_the_sixteen_colour_theme_has_no_other_colours():
    for style in load("ansi16").styles.values():
        assert not (style.color or "").startswith("#")
        assert not (style.background or "").startswith("#")


@pytest.mark.parametrize("name", ["dark", "light"])
def test_text_can_be_read_on_its_background(name):
    def luminance(color: str) -> float:
        channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(a: str, b: str) -> float:
        light, dark = sorted((luminance(a), luminance(b)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    styles = load(name).styles
    for role in ("text", "opcode", "shape", "name", "string", "tag", "computation", "problem", "live", "key"):
        style = styles[role]
        assert contrast(style.color, style.background) >= 4.5, role
    for role in ("muted", "place", "metadata", "attribute", "comment", "key_text"):
        style = styles[role]
        assert contrast(style.color, style.background) >= 3.0, role


def test_what_a_theme_leaves_open_comes_from_the_parent_role(tmp_path):
    path = write(tmp_path, "own", '[styles]\ntext = "white on black"\naccent = "red bold"\nopcode = "blue"\n')
    styles = load(str(path)).styles
    assert styles["standing"] == styles["accent"] == Style("red", "black", bold=True)
    assert styles["opcode"] == Style("blue", "black", bold=True)
    assert styles["muted"] == Style("white", "black")
    assert styles["cursor"] == Style()


def test_a_theme_extends_another_and_a_base_style_reaches_what_that_left_open(tmp_path):
    write(tmp_path / "config/hlo-tui/themes", "mine", 'extends = "dark"\n[styles]\naccent = "#ff00ff"\n')
    mine, dark = load("mine"), load("dark")
    assert mine.kind == "dark"
    assert [path.stem for path in mine.files] == ["mine", "dark"]
    assert mine.styles["opcode"].color == "#ff00ff"
    assert mine.styles["shape"] == dark.styles["shape"]
    assert "mine" in names()


def test_a_persons_theme_comes_before_a_shipped_one_of_the_same_name(tmp_path):
    path = write(tmp_path / "config/hlo-tui/themes", "dark", '[styles]\ntext = "red"\n')
    assert load("dark").files == (path,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[styles]\ntext = "red"\nopcod = "blue"\n', ("styles.opcod", "'opcode'")),
        ('[styles]\ntext = "gren"\n', ("styles.text", "'gren'", "'green'")),
        ('[styles]\ntext = "red blod"\n', ("styles.text", "'bold'")),
        ("[styles]\ntext = 3\n", ("styles.text", "has to be text")),
        ('kind = "drak"\n[styles]\ntext = "red"\n', ("kind", "'dark'")),
        ('knid = "dark"\n[styles]\ntext = "red"\n', ("knid", "'kind'")),
        ("[styles]\n", ("styles.text", "is not there")),
        ("styles = 1\n", ("styles", "has to be a table")),
        ('extends = "drak"\n', ("'drak'", "'dark'")),
        ("[styles\n", ("not TOML", "line 1")),
        ('extends = "PATH"\n', ("extends", "has no end")),
    ],
)
def test_faults_name_the_file_the_key_and_the_nearest_right_one(tmp_path, text, words):
    path = write(tmp_path, "wrong", text.replace("PATH", str(tmp_path / "wrong.toml")))
    with pytest.raises(HloTuiError) as caught:
        load(str(path))
    told = str(caught.value)
    assert str(path) in told
    for word in words:
        assert word in told


def test_a_missing_theme_says_which_there_are():
    with pytest.raises(HloTuiError) as caught:
        load("solarised")
    assert "ansi16, dark, light" in str(caught.value)
    with pytest.raises(HloTuiError):
        load("/nowhere/at/all.toml")


def test_themes_know_nothing_of_the_screen():
    code = "import hlo_tui.theme.theme, sys; print([m for m in ('textual', 'rich') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
