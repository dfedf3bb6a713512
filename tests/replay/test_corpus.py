"""The engine against recorded runs of real programs: every snapshot, in every grain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus import corpus_dir
from tests.replay.conftest import Open, forward

# The recordings were made on a processor that OpenBLAS, read when LAPACK is first used, has this code for.
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

# Programs that this jaxlib compiles wrongly: the reference grain gives what eager execution gives.
MISCOMPILED = frozenset({"jit_bug_asi2886", "jit_bug_jax38609"})
# A donated argument's buffer is reused for the result, and XLA records none.
NOT_RECORDED = frozenset({"jit_donated"})
# A value comes from a callback into the program that made the dump.
CALLBACKS = frozenset({"jit_with_io"})

DIRECTORIES = (
    "bug-asi2886", "bug-jax23007", "bug-jax37919", "bug-jax38099", "bug-jax38609", "bug-xla9542",
    "p01_metadata", "p04_nan", "p05_mixed", "p06_linalg", "p07_ops", "p09_export_cb",
)  # fmt: skip


def one(directory: Path, pattern: str) -> Path:
    (found,) = directory.glob(pattern)
    return found


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
@pytest.mark.parametrize("name", DIRECTORIES)
def test_snapshots_replay_to_their_recorded_results(debug: Open, name: str, grain: str) -> None:
    files = sorted((corpus_dir() / "dumps" / f"jax0102-{name}-snapshots_all").glob("*.snapshot.*.pb"))
    assert files
    for path in files:
        module = path.name.split(".")[1]
        (end,) = forward(debug(path, grain, stops=("op:no-such-opcode",)))
        context = (path.name, end)
        if module in CALLBACKS:
            assert end["self_check"] == "skipped", context
            assert "callback" in end["self_check_reason"] + " ".join(end["reasons"]), context
            continue
        assert end["unknown"] == [], context
        if module in NOT_RECORDED:
            assert (end["self_check"], end["recorded"]) == ("match", "absent"), context
        elif module in MISCOMPILED and grain == "body":
            assert (end["self_check"], end["recorded"]) == ("differs", "differs"), context
        else:
            assert (end["self_check"], end["recorded"]) == ("match", "match"), context
            if grain != "body":
                assert end["recorded_exact"], context


@pytest.mark.parametrize("name", ["p01_metadata-unopt_snapshots_1dev", "p01_metadata-unopt_snapshots"])
def test_unoptimised_snapshots_run_to_their_end(debug: Open, name: str) -> None:
    files = sorted((corpus_dir() / "dumps" / f"jax0102-{name}").glob("*.hlo_unoptimized_snapshot.*"))
    assert files
    for path in files:
        end = forward(debug(path))[-1]
        assert (end["self_check"], end["unknown"]) == ("match", []), path.name


class TestTaggedPrograms:
    """Numbers from numpy, written down."""

    def stops(self, debug: Open, module: str, stage: str) -> list[dict]:
        directory = corpus_dir() / "dumps" / "jax0102-p01_metadata-snapshots_all"
        *stops, end = forward(debug(one(directory, f"*.jit_{module}.{stage}")))
        assert (end["self_check"], end["recorded"]) == ("match", "match")
        return stops

    @pytest.fixture(
        params=[
            "before_optimizations.txt",
            "cpu_after_optimizations.txt",
            "cpu_after_optimizations.hlo.pb",
            "snapshot.*.pb",
        ]
    )
    def stage(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def test_doc_example(self, debug: Open, stage: str) -> None:
        (stop,) = self.stops(debug, "doc_example", stage)
        assert stop["value"]["first"] == pytest.approx([0.4546487], abs=1e-7)

    def test_scanned(self, debug: Open, stage: str) -> None:
        stops = self.stops(debug, "scanned", stage)
        assert len(stops) == 10
        assert stops[9]["value"]["first"] == pytest.approx([1.4271083], abs=1e-6)

    def test_whiled(self, debug: Open, stage: str) -> None:
        stops = self.stops(debug, "whiled", stage)
        assert [s["reason"] for s in stops].count('breakpoint="cond"') == 21
        assert [s["reason"] for s in stops].count('breakpoint="body"') == 20
        assert stops[-2]["value"]["first"] == pytest.approx([2660.4053], abs=1e-3)

    def test_conded(self, debug: Open, stage: str) -> None:
        assert [s["reason"] for s in self.stops(debug, "conded", stage)] == ['breakpoint="true_branch"']

    def test_grad_cvjp(self, debug: Open, stage: str) -> None:
        reasons = {s["reason"] for s in self.stops(debug, "grad_cvjp", stage)}
        assert reasons == {'breakpoint="fwd"', 'breakpoint="bwd"'}

    def test_vmapped(self, debug: Open, stage: str) -> None:
        (stop,) = self.stops(debug, "vmapped", stage)
        assert stop["value"]["first"] == [3.0] * 5

    def test_ctx(self, debug: Open, stage: str) -> None:
        assert self.stops(debug, "ctx", stage)[-1]["value"]["first"] == [4.0] * 8

    def test_doc_quotes(self, debug: Open, stage: str) -> None:
        (stop,) = self.stops(debug, "doc_quotes", stage)
        assert stop["reason"] == 'breakpoint="tensor:nan,inf"'
