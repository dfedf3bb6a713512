"""Random small HLO programs give the same outputs whole and stepped, in every grain, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import made
from hlo_tui.replay.program import Program
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.stopspec import parse_spec
from tests.replay.conftest import backward, forward

Draw = Callable[[st.SearchStrategy], object]
# The last is large enough that a block in it is remembered, and that a fusion that replaces one is taken apart.
STACK = (12, 1500)
DIMS = ((), (3,), (2, 3), (4, 2), (1, 5), STACK)
FLOATS = ("f32", "f64", "bf16", "f16")
UNARY = ("negate", "abs", "sine", "cosine", "tanh", "floor", "logistic", "sign", "exponential")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")


def shape(dtype: str, dims: tuple[int, ...]) -> str:
    return f"{dtype}[{','.join(map(str, dims))}]"


@dataclass
class Writer:
    """Writes a module instruction by instruction; each knows what it has at hand."""

    draw: Draw
    computations: list[str] = field(default_factory=list)
    names: int = 0

    def name(self, stem: str = "v") -> str:
        self.names += 1
        return f"{stem}.{self.names}"

    def pick(self, *options: object) -> object:
        return self.draw(st.sampled_from(options))

    def body(self, parameters: list[tuple[str, tuple[int, ...]]], size: int, depth: int) -> Body:
        made_body = Body(self)
        for number, (dtype, dims) in enumerate(parameters):
            made_body.emit(dtype, dims, f"parameter({number})")
        for _ in range(size):
            made_body.grow(depth)
        return made_body

    def close(self, stem: str, body: Body) -> str:
        name = self.name(stem)
        self.computations.append(f"{name} {{\n" + "\n".join(body.lines) + "\n}\n")
        return name


@dataclass
class Body:
    """The lines of one computation, and the arrays that it has so far."""

    writer: Writer
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)

    def emit(self, dtype: str, dims: tuple[int, ...], text: str, root: bool = False) -> str:
        name = self.writer.name()
        self.lines.append(f"  {'ROOT ' if root else ''}{name} = {shape(dtype, dims)} {text}")
        self.values.append((name, dtype, dims))
        return name

    def line(self, shapes: str, text: str, root: bool = False) -> str:
        name = self.writer.name()
        self.lines.append(f"  {'ROOT ' if root else ''}{name} = {shapes} {text}")
        return name

    def any(self) -> tuple[str, str, tuple[int, ...]]:
        return self.writer.draw(st.sampled_from(self.values))  # type: ignore[return-value]

    def like(self, dtype: str, dims: tuple[int, ...]) -> str:
        """A value of this shape: one that is there, or one made of another."""
        there = [name for name, t, d in self.values if (t, d) == (dtype, dims)]
        if there and self.writer.draw(st.booleans()):
            return str(self.writer.draw(st.sampled_from(there)))
        name, t, d = self.any()
        if d != ():
            zero = self.emit(t, (), "constant(0)")
            adder = self.adder(t)
            axes = ",".join(map(str, range(len(d))))
            name = self.emit(t, (), f"reduce({name}, {zero}), dimensions={{{axes}}}, to_apply={adder}")
        if t != dtype:
            name = self.emit(dtype, (), f"convert({name})")
        return self.emit(dtype, dims, f"broadcast({name}), dimensions={{}}") if dims else name

    def adder(self, dtype: str) -> str:
        inner = Body(self.writer)
        a = inner.emit(dtype, (), "parameter(0)")
        b = inner.emit(dtype, (), "parameter(1)")
        inner.emit(dtype, (), f"add({a}, {b})", root=True)
        return self.writer.close("sum", inner)

    def grow(self, depth: int) -> None:
        kinds = ["unary", "binary", "select", "move", "dot", "convert", "tuple", "stack"]
        if depth:
            kinds += ["call", "while", "conditional"]
        getattr(self, str(self.writer.pick(*kinds)) + "_")(depth)

    def unary_(self, _: int) -> None:
        name, dtype, dims = self.any()
        opcode = self.writer.pick(*UNARY)
        if opcode == "exponential":
            name = self.emit(dtype, dims, f"tanh({name})")
        self.emit(dtype, dims, f"{opcode}({name})")

    def binary_(self, _: int) -> None:
        name, dtype, dims = self.any()
        self.emit(dtype, dims, f"{self.writer.pick(*BINARY)}({name}, {self.like(dtype, dims)})")

    def select_(self, _: int) -> None:
        name, dtype, dims = self.any()
        other = self.like(dtype, dims)
        chosen = self.line(
            shape("pred", dims), f"compare({name}, {other}), direction={self.writer.pick('LT', 'GE')}"
        )
        self.emit(dtype, dims, f"select({chosen}, {name}, {other})")

    def move_(self, _: int) -> None:
        name, dtype, dims = self.any()
        if not dims:
            self.emit(dtype, (3,), f"broadcast({name}), dimensions={{}}")
        elif len(dims) == 1:
            self.emit(dtype, (1, dims[0]), f"reshape({name})")
            self.emit(dtype, dims, f"reverse({name}), dimensions={{0}}")
        else:
            self.emit(dtype, dims[::-1], f"transpose({name}), dimensions={{1,0}}")
            cut = (dims[0], 1)
            self.emit(dtype, cut, f"slice({name}), slice={{[0:{dims[0]}], [{dims[1] - 1}:{dims[1]}]}}")

    def dot_(self, _: int) -> None:
        name, dtype, dims = self.any()
        if len(dims) == 2 and dtype in ("f32", "f64"):
            other = self.like(dtype, (dims[1], 2))
            text = f"dot({name}, {other}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
            self.emit(dtype, (dims[0], 2), text)

    def convert_(self, _: int) -> None:
        name, _, dims = self.any()
        self.emit(str(self.writer.pick(*FLOATS)), dims, f"convert({name})")

    def stack_(self, _: int) -> None:
        name, dtype, dims = self.any()
        if len(dims) == 2:
            start = self.line("s32[]", f"constant({self.writer.pick(-2, 0, 1, 5, 40)})")
            self.stacked(name, dtype, dims, start)
            if self.writer.draw(st.booleans()):
                self.row_of(name, dtype, dims, start)

    def stacked(self, name: str, dtype: str, dims: tuple[int, ...], start: str) -> str:
        """An array with some rows replaced: by itself, or as a fusion or call does it."""
        rows = int(self.writer.pick(1, 1, min(2, dims[0])))  # type: ignore[call-overload]
        block = self.like(dtype, (rows, dims[1]))
        how = self.writer.pick("fusion", "call", "")
        inner = Body(self.writer) if how else self
        given = [name, block, start]
        if how:
            shapes = (shape(dtype, dims), shape(dtype, (rows, dims[1])), "s32[]")
            given = [inner.line(one, f"parameter({n})") for n, one in enumerate(shapes)]
            given[1] = inner.line(shapes[1], f"negate({given[1]})")
        zero = inner.line("s32[]", "constant(0)")
        text = f"dynamic-update-slice({', '.join([*given, zero])})"
        if not how:
            return self.emit(dtype, dims, text)
        inner.line(shape(dtype, dims), text, root=True)
        called = self.writer.close("stacks", inner)
        calls = f"kind=kLoop, calls={called}" if how == "fusion" else f"to_apply={called}"
        return self.emit(dtype, dims, f"{how}({name}, {block}, {start}), {calls}")

    def row_of(self, name: str, dtype: str, dims: tuple[int, ...], start: str) -> None:
        zero = self.line("s32[]", "constant(0)")
        sizes = f"dynamic_slice_sizes={{1,{dims[1]}}}"
        self.emit(dtype, (1, dims[1]), f"dynamic-slice({name}, {start}, {zero}), {sizes}")

    def tuple_(self, _: int) -> None:
        (a, ta, da), (b, tb, db) = self.any(), self.any()
        pair = f"({shape(ta, da)}, {shape(tb, db)})"
        made_pair = self.line(pair, f"tuple({a}, {b})")
        self.emit(tb, db, f"get-tuple-element({made_pair}), index=1")

    def inner(
        self, parameters: list[tuple[str, tuple[int, ...]]], dtype: str, dims: tuple[int, ...], depth: int
    ) -> str:
        body = self.writer.body(parameters, int(self.writer.draw(st.integers(1, 3))), depth - 1)  # type: ignore[call-overload]
        result = body.like(dtype, dims)
        body.emit(dtype, dims, f"add({result}, {body.like(dtype, dims)})", root=True)
        return self.writer.close("inner", body)

    def call_(self, depth: int) -> None:
        name, dtype, dims = self.any()
        self.emit(dtype, dims, f"call({name}), to_apply={self.inner([(dtype, dims)], dtype, dims, depth)}")

    def conditional_(self, depth: int) -> None:
        name, dtype, dims = self.any()
        index = self.emit("s32", (), f"constant({self.writer.pick(0, 1, 2, 7)})")
        self.values.pop()
        branches = [self.inner([(dtype, dims)], dtype, dims, depth) for _ in range(3)]
        operands = ", ".join([index, name, name, self.like(dtype, dims)])
        self.emit(dtype, dims, f"conditional({operands}), branch_computations={{{', '.join(branches)}}}")

    def while_(self, depth: int) -> None:
        name, dtype, dims = self.any()
        carried = f"(s32[], {shape(dtype, dims)})"
        step = self.inner([(dtype, dims)], dtype, dims, depth)
        writer = self.writer
        body, condition = Body(writer), Body(writer)
        state = body.line(carried, "parameter(0)")
        count = body.line("s32[]", f"get-tuple-element({state}), index=0")
        value = body.line(shape(dtype, dims), f"get-tuple-element({state}), index=1")
        one = body.line("s32[]", "constant(1)")
        next_count = body.line("s32[]", f"add({count}, {one})")
        next_value = body.line(shape(dtype, dims), f"call({value}), to_apply={step}")
        if dims == STACK:
            body.values.append((next_value, dtype, dims))
            next_value = body.stacked(next_value, dtype, dims, count)
        body.line(carried, f"tuple({next_count}, {next_value})", root=True)
        state = condition.line(carried, "parameter(0)")
        count = condition.line("s32[]", f"get-tuple-element({state}), index=0")
        limit = condition.line("s32[]", f"constant({writer.pick(0, 1, 3)})")
        condition.line("pred[]", f"compare({count}, {limit}), direction=LT", root=True)
        zero = self.line("s32[]", "constant(0)")
        start = self.line(carried, f"tuple({zero}, {name})")
        calls = f"condition={writer.close('cond', condition)}, body={writer.close('body', body)}"
        looped = self.line(carried, f"while({start}), {calls}")
        self.emit(dtype, dims, f"get-tuple-element({looped}), index=1")


@st.composite
def modules(draw: Draw) -> str:
    writer = Writer(draw)
    parameters = [(str(writer.pick("f32", *FLOATS)), writer.pick(*DIMS)) for _ in range(2)]
    body = writer.body(parameters, int(draw(st.integers(2, 6))), 2)  # type: ignore[arg-type,call-overload]
    outputs = body.values[-3:]
    shapes = ", ".join(shape(t, d) for _, t, d in outputs)
    body.line(f"({shapes})", f"tuple({', '.join(name for name, _, _ in outputs)})", root=True)
    entry = "ENTRY main {\n" + "\n".join(body.lines) + "\n}\n"
    return "HloModule random\n\n" + "\n".join([*writer.computations, entry])


@pytest.mark.parametrize("grain", list(Grain))
def test_whole_and_stepped_agree(backend: xla.Backend, cache: SliceCache, grain: Grain) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(modules())
    def agree(text: str) -> None:
        program = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
        debugger = Debugger(program, made(program, 0), backend, cache, grain=grain)
        debugger.set_stops([parse_spec("op:add"), parse_spec("op:call")])
        *stops, end = forward(debugger)
        assert end["unknown"] == [], text
        assert end["self_check"] == "match", text
        back = backward(debugger)[:-1]
        assert [(e["key"], e["value"]) for e in back[::-1]] == [(e["key"], e["value"]) for e in stops], text

    agree()


def test_the_host_does_what_xla_does(backend: xla.Backend, cache: SliceCache) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(modules())
    def same(text: str) -> None:
        program = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
        outputs = []
        for hosts in (True, False):
            evaluator = Evaluator(program, backend, cache, grain=Grain.BODY)
            evaluator.hosts = hosts
            outputs.append(evaluator.root(Frame(program.entry, made(program, 0).values)))
        for one, other in zip(*outputs, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), text

    same()
