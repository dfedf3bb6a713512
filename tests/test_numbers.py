"""Numbers on a command line."""

from __future__ import annotations

import pytest

from hlo_tui.cli import main
from tests.corpus import DATA

STEP = str(DATA / "step" / "jit_step.cpu_after_optimizations.hlo.pb")


@pytest.mark.parametrize(
    "command",
    [
        ["bisect", str(DATA / "step"), "jit_step", "--tolerance", "nan"],
        ["bisect", str(DATA / "step"), "jit_step", "--tolerance", "inf"],
        ["bisect", str(DATA / "step"), "jit_step", "--tolerance", "-1e-3"],
        ["bisect", str(DATA / "step"), "jit_step", "--output", "-1"],
        ["memory", STEP, "--top", "-5"],
        ["cost", STEP, "--top", "9" * 5000],
        ["cost", STEP, "--top", "²"],
    ],
)
def test_a_wrong_number_is_wrong_use(command: list[str], capsys):
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    assert command[-2] in capsys.readouterr().err


def test_right_numbers_are_taken(capsys):
    assert main(["cost", STEP, "--top", "0"]) == 0
    assert main(["cost", STEP, "--top", "3"]) == 0
    assert capsys.readouterr().out
