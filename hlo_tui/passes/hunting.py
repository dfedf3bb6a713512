"""A search for inputs that show a fault, where nobody knows which do: made ones of all kinds, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from hlo_tui.passes.bisect import NONE, Bisection, Options, Verdict

# What is asked for in place of the name of inputs.
ANY = "any"
KINDS = ("large", "boundary", "normal", "made")
SEEDS = 8


def hunt(options: Options, make: Callable[[Options, str], Bisection]) -> Verdict:
    """Bisect on one kind of inputs after the other, with several seeds each, until one shows a fault.

    Args:
        options: how; the seed is the first one.
        make: gives the search for options; the text says in words which try it is.

    Returns:
        The verdict on the inputs that show a fault, else on the last ones; `replays` are those of all tries.

    Raises:
        HloTuiError: as a search does.
    """
    replays = 0
    found = Verdict()
    for number, tried in enumerate(_tries(options), 1):
        words = f"inputs {tried.inputs}, seed {tried.seed} ({number} of {len(KINDS) * SEEDS})"
        found = make(tried, words).run()
        replays += found.replays
        if found.verdict != NONE or found.stopped or found.blind:
            break
    found.replays = replays
    return found


def _tries(options: Options) -> Iterator[Options]:
    for seed in range(options.seed, options.seed + SEEDS):
        for kind in KINDS:
            yield replace(options, inputs=kind, seed=seed)
