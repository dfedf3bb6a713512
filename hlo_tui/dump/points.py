"""Dump points: the moments of a compilation at which XLA writes a module, as the file name spells them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

# The longest run of digits that is taken for a number; longer ones are part of a name.
MAX_DIGITS = 18

# The last component of a stage name. The CUDA capability is the one prefix with a dot in it.
_NAMED = re.compile(
    r"\.((?!before_)(?:sm_[0-9]+\.)?[^.]*after_optimizations(?:_(?:before|after)_buffer_assignment)?"
    r"|before_optimizations?|after_optimization|after_spmd_partitioner|before_config_assignment|after_codegen)$"
)
_UNKNOWN = re.compile(r"\.((?:before|after)_[^.]+)$")

# Where a stage without a step number stands: before the passes, among them (where exactly the name does not
# say) or after them, and in which order there. Names that are not here take the last place of their group.
_ORDER = {
    "before_optimizations": 0,
    "before_optimization": 1,
    "after_spmd_partitioner": 0,
    "before_config_assignment": 1,
    "after_optimizations_before_buffer_assignment": 0,
    "after_optimizations_after_buffer_assignment": 1,
    "after_codegen": 3,
}
_GROUPS = {"before": 0, "pass": 1, "within": 1, "between": 2, "after": 3}


@dataclass(frozen=True, slots=True)
class Point:
    """One dump point.

    Attributes:
        label: the part of the file name between the module's name and the extension; unique in a module.
        kind: "before" and "after" the optimizations, "pass" (between two passes), "within" (in the middle
            of a pass), "between" (a named stage somewhere between before and after).
        step: the dump's number in the module's order, None where the name has none.
        pipeline: the pipeline's name (spaces are written as underscores), None outside pipelines.
        after: the pass that ran last ("pipeline-start" where none did), for "within" the name of the moment.
        before: the pass that comes next ("pipeline-end" where none does).
        during: the pass that was running, for "within".
        target: what the module was compiled for ("cpu", "sm_9.0_gpu", "gfx942_gpu"), None where it is not
            said.
    """

    label: str
    kind: str
    step: int | None = None
    pipeline: str | None = None
    after: str | None = None
    before: str | None = None
    during: str | None = None
    target: str | None = None

    @property
    def order(self) -> tuple[int, int, str]:
        """The point's place among the points of its module, to sort by."""
        place = self.step if self.step is not None else _ORDER.get(self.label, 2)
        return _GROUPS[self.kind], place, self.label


def is_number(text: str) -> bool:
    """Say whether `text` is a number as XLA pads them: four digits or more."""
    return 4 <= len(text) <= MAX_DIGITS and text.isascii() and text.isdigit()


def _after_number(text: str, parts: int) -> int:
    """Index of the dot before the last number with `parts` components or more behind it; -1 if none."""
    end = len(text)
    for _ in range(parts):
        end = text.rfind(".", 0, end)
        if end < 0:
            return -1
    while end > 0:
        start = text.rfind(".", 0, end)
        if start < 0:
            return -1
        if is_number(text[start + 1 : end]):
            return start
        end = start
    return -1


@lru_cache(maxsize=8192)
def _pass_point(label: str) -> Point:
    step, _, rest = label.partition(".")
    rest, _, before = rest.rpartition(".before_")
    pipeline, _, after = rest.rpartition(".after_")
    return Point(label, "pass", int(step), pipeline, after, before)


@lru_cache(maxsize=8192)
def _within_point(label: str) -> Point:
    step, during, moment = label.split(".", 2)
    return Point(label, "within", int(step), after=moment, during=during)


@lru_cache(maxsize=1024)
def _named_point(label: str) -> Point:
    head, found, _ = label.partition("after_optimizations")
    if found:
        return Point(label, "after", target=head.rstrip("_") or None)
    if label.startswith("before_optimization"):
        return Point(label, "before")
    if label in ("after_optimization", "after_codegen"):
        return Point(label, "after")
    return Point(label, "between")


def split_point(stem: str) -> tuple[str, Point] | None:
    """Take the dump point off the right end of a name without its extension.

    Args:
        stem: `.MODNAME.STAGE`, or `.STAGE` where the module's name was dropped.

    Returns:
        What is left of the stage, and the point; None where the end is no stage.
    """
    named = _NAMED.search(stem)
    if named is not None:
        return stem[: named.start()], _named_point(named.group(1))
    before = stem.rfind(".before_")
    after = stem.rfind(".after_", 0, before) if before > 0 else -1
    start = _after_number(stem[:after], 1) if after > 0 else -1
    if start >= 0:
        return stem[:start], _pass_point(stem[start + 1 :])
    start = _after_number(stem, 2)
    if start >= 0:
        return stem[:start], _within_point(stem[start + 1 :])
    unknown = _UNKNOWN.search(stem)
    if unknown is not None:
        return stem[: unknown.start()], _named_point(unknown.group(1))
    return None
