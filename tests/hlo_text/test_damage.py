"""Real files cut anywhere and changed anywhere: something is always read, and no fault is raised."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hlo_tui.hlo import outline as outline_module
from hlo_tui.hlo.report import module_text
from hlo_tui.hlo.tokens import START, tokenize
from tests.corpus import corpus_dir
from tests.hlo_text.samples import HAND_WRITTEN, STEP, module_of

_PIECES = (
    b'"', b"'", b"{", b"}", b"(", b")", b"/*", b"*/", b"//", b"\\", b"\n", b"\r\n", b"\0", b"\xff", b"\t",
    b"=", b"calls=\n{", b"HloModule x, a={", b"ENTRY e {\n", b"}\n", b"  a = f32[] ", b"ROOT ",
    b"StackFrames\n1 {",
)  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((0, 1, 1, 2, 5, 30))):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(5)
        if change == 0:
            data = data[:at]
        elif change == 1:
            data = data[:at] + data[at + rng.randrange(1, 50) :]
        elif change == 2:
            data = data[:at] + rng.choice(_PIECES) + data[at:]
        elif change == 3:
            data = data[:at] + rng.randbytes(rng.randrange(1, 20)) + data[at:]
        else:
            other = rng.randrange(len(data) + 1)
            data = data[:at] + data[other : other + rng.randrange(200)] + data[at:]
    return data


def read_all(data: bytes) -> None:
    module = module_of(data)
    outline = module.outline
    assert module.lines is not None
    assert outline is not None
    assert module.lines.count == data.count(b"\n") + (data[-1:] not in (b"\n", b""))
    for computation in outline.computations:
        body = module.body(computation)
        assert len(body) == computation.instructions
        assert all(instruction.computation == computation.name for instruction in body.instructions)
        outline.kind(computation)
    for line in range(0, module.lines.count, 7):
        instruction = module.instruction_at(line)
        if instruction is not None:
            module.users(instruction)
            module.frames(instruction)
    module_text(module)
    state = START
    for line in data.decode("utf-8", "replace").split("\n"):
        tokens, state = tokenize(line, state)
        assert sum(token.end - token.start for token in tokens) == len(line)


@pytest.mark.parametrize("seed", range(60))
def test_samples(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(outline_module, "_FAST_FROM", rng.choice((0, 1 << 60)))
    monkeypatch.setattr(outline_module, "_BLOCK", rng.choice((64, 1024, 1 << 20)))
    for text in (STEP, HAND_WRITTEN):
        read_all(damaged(text.encode(), rng))


@pytest.mark.parametrize("length", range(0, len(HAND_WRITTEN), 3))
def test_a_sample_cut_at_any_byte(length: int) -> None:
    read_all(HAND_WRITTEN.encode()[:length])


def test_real_files() -> None:
    root = corpus_dir()
    patterns = ("public/**/*.hlo", "snippets/*.txt", "dumps/*/*optimizations.txt")
    paths: list[Path] = [path for pattern in patterns for path in sorted(root.glob(pattern))]
    rng = random.Random(2)
    for path in rng.sample(paths, 150):
        data = path.read_bytes()
        begin = rng.randrange(max(1, len(data) - 20_000))
        read_all(damaged(data[begin : begin + 20_000], rng))
