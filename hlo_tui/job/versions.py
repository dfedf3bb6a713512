"""Which flags about dumps a version of jaxlib knows: an unknown one in XLA_FLAGS ends the program at its start.

`flags.tsv` is what the versions in its head line answered when `scripts/flagtable` asked them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

TABLE = Path(__file__).with_name("flags.tsv")


def as_numbers(version: str) -> tuple[int, ...]:
    """A version for comparisons: its numbers up to what is no number ("0.12.0.1" is (0, 12, 0, 1))."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version, maxsplit=1)[0]))


@dataclass(frozen=True, slots=True)
class Table:
    """The flags that each of some versions knows, names without the dashes."""

    columns: Mapping[str, frozenset[str]]

    def holds(self, version: str) -> bool:
        """Whether this very version was asked."""
        return version in self.columns

    def known(self, version: str) -> frozenset[str]:
        """The flags that a version is sure to know, as far as the table tells.

        Between two versions of the table only what both of them know is sure. What is newer than all of them
        is taken for the newest; of what is older than all, or no version at all, only what all know is sure.
        """
        numbers = as_numbers(version)
        ordered = sorted(self.columns, key=as_numbers)
        below = [one for one in ordered if as_numbers(one) <= numbers]
        above = [one for one in ordered if as_numbers(one) >= numbers]
        if not numbers or not below:
            return frozenset.intersection(*self.columns.values())
        if not above:
            return self.columns[below[-1]]
        return self.columns[below[-1]] & self.columns[above[0]]

    def since(self, flag: str) -> str:
        """The oldest version of the table from which on every one knows a flag; empty where the newest does not."""
        found = ""
        for version in sorted(self.columns, key=as_numbers):
            found = (found or version) if flag in self.columns[version] else ""
        return found


@lru_cache(maxsize=1)
def read_table() -> Table:
    """The table that comes with the package."""
    head, *rows = (line.split("\t") for line in TABLE.read_text("utf-8").splitlines())
    return Table(
        {
            version: frozenset(row[0] for row in rows if row[column] == "yes")
            for column, version in enumerate(head[1:], 1)
        }
    )
