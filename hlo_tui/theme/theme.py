"""A theme: a name, and a style for every role."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.theme.roles import PARENTS, ROLES
from hlo_tui.theme.style import ATTRIBUTES, NAMED, Style, StyleError, parse_style

_KEYS = ("description", "extends", "kind", "styles")
_KINDS = ("dark", "light", "ansi")
_DEEPEST = 8
_PACKAGED = Path(__file__).parent / "files"
_CHECKOUT = Path(__file__).parents[2] / "themes"


@dataclass(frozen=True, slots=True)
class Theme:
    """How everything looks.

    Attributes:
        name: the file's name without its ending.
        description: a sentence for the list of themes.
        kind: "dark", "light" or "ansi" (the terminal's own sixteen colours).
        styles: a style for every role, complete but for the overlays.
        files: the files that it was read from, its own first.
    """

    name: str
    description: str
    kind: str
    styles: Mapping[str, Style]
    files: tuple[Path, ...]


def user_directory() -> Path:
    """Where a person's own theme files are."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(base if os.path.isabs(base) else Path.home() / ".config") / "hlo-tui" / "themes"


def directories() -> tuple[Path, ...]:
    """Where themes are looked for: the person's own come before those that were shipped."""
    shipped = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    return user_directory(), shipped


def names() -> list[str]:
    """The names of all themes that there are, sorted."""
    found: set[str] = set()
    for directory in directories():
        try:
            found |= {entry[: -len(".toml")] for entry in os.listdir(directory) if entry.endswith(".toml")}
        except OSError:
            continue
    return sorted(found)


def load(wanted: str) -> Theme:
    """Read a theme.

    Args:
        wanted: a name, or the path of a file (with a slash or the ending .toml).

    Raises:
        HloTuiError: there is none, it cannot be read, or something in it is not right: says file and key.
    """
    return _finish(_read_theme(_locate(wanted, ""), ()))


@dataclass(frozen=True, slots=True)
class _Written:
    """A theme as its file and those that it extends say it: a style for some roles."""

    description: str
    kind: str
    styles: Mapping[str, Style]
    files: tuple[Path, ...]


def _locate(wanted: str, asked_by: str) -> Path:
    if "/" in wanted or wanted.endswith(".toml"):
        return Path(wanted)
    for directory in directories():
        path = directory / f"{wanted}.toml"
        if path.is_file():
            return path
    there = names()
    raise HloTuiError(
        f"There is no theme {wanted!r}",
        f"{asked_by}there are: {', '.join(there)}" if there else f"{asked_by}there are none",
        _nearest(wanted, there) or f"Put your own into {user_directory()}.",
    )


def _read_theme(path: Path, extended: tuple[Path, ...]) -> _Written:
    data = _read(path)
    _check_keys(path, "", data, _KEYS)
    written = _table(path, data)
    below = _Written("", "dark", {}, ())
    if "extends" in data:
        if len(extended) >= _DEEPEST:
            raise _fault(path, "extends", "has no end: the themes extend one another")
        below = _read_theme(_locate(_text(path, data, "extends"), f"{path}: "), (*extended, path))
    kind = _text(path, data, "kind") if "kind" in data else below.kind
    if kind not in _KINDS:
        raise _fault(path, "kind", f"{kind!r} is none of {', '.join(_KINDS)}", _nearest(kind, _KINDS))
    own = {role: _style(path, role, value) for role, value in written.items()}
    styles = {
        **below.styles,
        **{role: style.over(below.styles.get(role, Style())) for role, style in own.items()},
    }
    if "text" not in styles:
        raise _fault(path, "styles.text", "is not there", "A theme that extends no other begins with it.")
    description = _text(path, data, "description") if "description" in data else ""
    return _Written(description, kind, styles, (path, *below.files))


def _finish(written: _Written) -> Theme:
    styles: dict[str, Style] = {}
    for role in ROLES:
        # In ROLES a parent comes before its children.
        parent = styles[PARENTS[role]] if role in PARENTS else Style()
        styles[role] = written.styles.get(role, Style()).over(parent)
    return Theme(written.files[0].stem, written.description, written.kind, styles, written.files)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise HloTuiError("Cannot read the theme", f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HloTuiError("The theme is not TOML", f"{path}: {error}") from error


def _check_keys(path: Path, prefix: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise _fault(path, prefix + key, "is no key of a theme", _nearest(key, known))


def _table(path: Path, data: Mapping[str, Any]) -> Mapping[str, Any]:
    styles = data.get("styles", {})
    if not isinstance(styles, dict):
        raise _fault(path, "styles", "has to be a table")
    _check_keys(path, "styles.", styles, ROLES)
    return styles


def _text(path: Path, data: Mapping[str, Any], key: str) -> str:
    value = data[key]
    if not isinstance(value, str):
        raise _fault(path, key, "has to be text")
    return value


def _style(path: Path, role: str, value: object) -> Style:
    key = f"styles.{role}"
    if not isinstance(value, str):
        raise _fault(path, key, 'has to be text, such as "#88c0d0 bold"')
    try:
        return parse_style(value)
    except StyleError as error:
        hint = (
            _nearest(error.word, (*NAMED, *ATTRIBUTES)) or "A colour is #rrggbb or a name such as bright_red."
        )
        raise _fault(path, key, f"is wrong: {error}", hint) from error


def _nearest(word: str, known: tuple[str, ...] | list[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"Do you mean {close[0]!r}?" if close else ""


def _fault(path: Path, key: str, what: str, hint: str = "") -> HloTuiError:
    return HloTuiError("The theme is not right", f"{path}: {key} {what}", hint)
