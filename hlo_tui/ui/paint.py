"""A theme as Rich styles: looked up by role, and by the role that is laid over it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip
from textual.theme import Theme as TextualTheme

from hlo_tui.hlo.visible import visible
from hlo_tui.theme.style import Style
from hlo_tui.theme.theme import Theme
from hlo_tui.ui.glyphs import to_ascii
from hlo_tui.ui.rows import Row, Span, fit

# What Textual asks of a theme of the terminal's own colours.
_ANSI = {
    "ansi-background": "ansi_black",
    "ansi-foreground": "ansi_white",
    "block-cursor-foreground": "ansi_black",
    "block-cursor-background": "ansi_white",
    "input-cursor-background": "ansi_white",
    "input-cursor-foreground": "ansi_black",
    "input-cursor-text-style": "none",
    "input-selection-background": "ansi_bright_blue",
    "input-selection-foreground": "ansi_black",
    "screen-selection-background": "ansi_bright_blue",
    "screen-selection-foreground": "ansi_black",
}


class Paint:
    """What turns roles into styles. A new theme is a new one of these."""

    def __init__(self, theme: Theme, ascii_only: bool = False) -> None:
        self.theme = theme
        self.ascii_only = ascii_only
        self._styles = {role: _rich(style) for role, style in theme.styles.items()}
        self._overlaid: dict[tuple[str, str], RichStyle] = {}

    def style(self, role: str, over: str = "") -> RichStyle:
        """The style of a role, with the overlay `over` on it where one is named."""
        if not over:
            return self._styles[role]
        found = self._overlaid.get((role, over))
        if found is None:
            found = self._overlaid[role, over] = _rich(_lay(self.theme, role, over))
        return found

    def segment(self, text: str, role: str, over: str = "") -> Segment:
        """Text in a role; whatever it is made of, a terminal can be sent it."""
        text = visible(text)
        return Segment(to_ascii(text) if self.ascii_only else text, self.style(role, over))

    def strip(self, spans: Iterable[Span], over: str = "") -> Strip:
        """Spans as one line; neighbours that look alike become one."""
        segments: list[Segment] = []
        for text, role in spans:
            if text:
                segments.append(self.segment(text, role, over))
        return Strip(Segment.simplify(segments))

    def row(self, line: Row, width: int, over: str = "") -> Strip:
        """A row in exactly `width` columns."""
        return self.strip(fit(line, width), over)


def _lay(theme: Theme, role: str, over: str) -> Style:
    below, above = theme.styles[role], theme.styles[over]
    if above.reverse:
        # In reverse every colour of the text would become a ground of its own.
        text = theme.styles["text"]
        below = Style(text.color, text.background, below.bold, underline=below.underline)
    return above.over(below)


def _rich(style: Style) -> RichStyle:
    return RichStyle(
        color=_named(style.color),
        bgcolor=_named(style.background),
        bold=style.bold or None,
        dim=style.dim or None,
        italic=style.italic or None,
        underline=style.underline or None,
        reverse=style.reverse or None,
        strike=style.strike or None,
    )


def _named(color: str | None) -> str | None:
    return None if color == "default" else color


def textual_theme(theme: Theme, name: str) -> TextualTheme:
    """The same for what Textual paints by itself: inputs, the palette, scroll bars."""
    ansi = theme.kind == "ansi"

    def color(role: str, ground: bool = False) -> str:
        style = theme.styles[role]
        value = (style.background if ground else style.color) or "default"
        return value if value.startswith("#") else f"ansi_{value}"

    ground = color("text", ground=True)
    cursor = theme.styles["cursor"].background or ""
    lifted = cursor if cursor.startswith("#") else ground
    return TextualTheme(
        name=name,
        primary=color("accent"),
        secondary=color("accent"),
        accent=color("accent"),
        warning=color("warning"),
        error=color("bad"),
        success=color("good"),
        foreground=color("text"),
        background=ground,
        surface=ground,
        panel=lifted,
        boost=ground,
        dark=theme.kind != "light",
        ansi=ansi,
        variables={
            "rule": color("rule"),
            "border": color("rule"),
            "border-blurred": color("rule"),
            "scrollbar": color("rule"),
            "scrollbar-hover": color("muted"),
            "scrollbar-active": color("accent"),
            "scrollbar-background": ground,
            "scrollbar-background-hover": ground,
            "scrollbar-background-active": ground,
            "scrollbar-corner-color": ground,
            **(_ANSI if ansi else {}),
        },
    )
