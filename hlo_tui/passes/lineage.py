"""The life of one instruction: from the source line through every pass to the fusion and its kernel's file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hlo_tui.dump.modules import Module
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.changes import Place
from hlo_tui.passes.history import History, Trace
from hlo_tui.passes.links import CERTAIN, MERGED, REPLACED, SAME

# Files about one function of a module that are worth a look beside an instruction.
_KERNELS = frozenset(
    ("llvm-ir", "ptx", "object-file", "kernel-mlir", "mlir-passes", "triton-ir", "device-code")
)
_OTHER_CHARACTERS = re.compile(r"[.\-]")


@dataclass(frozen=True, slots=True)
class Moment:
    """One stage of a life, with the instructions that it was then; none where it is not there."""

    label: str
    traces: tuple[Trace, ...]

    @property
    def eventful(self) -> bool:
        """Whether something happened to it since the stage before."""
        return not self.traces or any(trace.what or trace.how != SAME for trace in self.traces)


@dataclass(frozen=True, slots=True)
class Life:
    """An instruction through the stages.

    Attributes:
        place: the instruction that was asked for.
        label: the stage in which it was asked for.
        moments: the stages in order, as far as it can be followed.
        sources: the source lines that it comes from; several where instructions were merged.
        fusion: the fusion or call that holds it at the end, "" where none does.
        kernels: the dump's files about that fusion, relative to the dump.
    """

    place: Place
    label: str
    moments: tuple[Moment, ...]
    sources: tuple[tuple[SourceFrame, str], ...] = ()
    fusion: str = ""
    kernels: tuple[str, ...] = ()

    @property
    def end(self) -> Trace | None:
        """What there is of it at the last stage, None where nothing is."""
        traces = self.moments[-1].traces
        return traces[0] if traces else None


def life(module: Module, history: History, stage: int, name: str) -> Life:
    """Follow an instruction in both directions.

    Args:
        module: where its side files are looked for.
        history: of the module.
        stage: the place of the stage in which it is named.
        name: its name, or COMPUTATION/NAME.

    Raises:
        HloTuiError: there is no such instruction, or a stage cannot be read.
    """
    place = find(history, stage, name)
    label = history.stages[stage].label
    sources = [(frames[0], "own")] if (frames := history.frames(stage, place)) else []
    moments: list[Moment] = []
    later = [Trace(place, SAME, CERTAIN)]
    for at, traces in history.backward(stage, place):
        moments.insert(0, Moment(history.stages[at + 1].label, tuple(_arrived(later, traces))))
        later = traces
        for trace in traces:
            frames = history.frames(at, trace.place)
            if frames and all(known[0] != frames[0] for known in sources):
                sources.append((frames[0], trace.how if trace.how in (MERGED, REPLACED) else "own"))
    begin = stage - len(moments)
    first = tuple(Trace(trace.place, SAME, CERTAIN) for trace in later)
    moments.insert(0, Moment(history.stages[begin].label, first))
    moments += [
        Moment(history.stages[at].label, tuple(traces)) for at, traces in history.forward(stage, place)
    ]
    last = next((moment for moment in reversed(moments) if moment.traces), None)
    fusion = ""
    if last is not None and last is moments[-1]:
        fusion = _fusion(history, history.index(last.label), last.traces[0].place)
    return Life(place, label, tuple(moments), tuple(sources), fusion, kernel_files(module, fusion))


def _arrived(traces: list[Trace], earlier: list[Trace]) -> list[Trace]:
    """Instructions of one stage with what happened to each on its way from the stage before."""
    found = []
    for trace in traces:
        origins = [one for one in earlier if one.neighbour == trace.place or one.neighbour is None]
        events = [one for one in origins if one.how != SAME]
        how, sure = (events[-1].how, events[-1].sure) if events else (SAME, CERTAIN)
        what = tuple(dict.fromkeys(kind for one in origins for kind in one.what))
        found.append(Trace(trace.place, how, sure, what))
    return found


def find(history: History, stage: int, name: str) -> Place:
    """The instruction called NAME or COMPUTATION/NAME at a stage.

    Raises:
        HloTuiError: there is none, or the stage cannot be read.
    """
    computation, _, last = name.rpartition("/")
    for block in history.text(stage).blocks.values():
        if (not computation or block.name == computation.lstrip("%")) and last.lstrip("%") in block.index:
            parsed = block.parsed(block.index[last.lstrip("%")])
            if parsed is not None:
                return Place(block.name, parsed.name, parsed.opcode, parsed.shape)
    raise HloTuiError(f"no instruction {visible(name)!r}", f"at {visible(history.stages[stage].label)}")


def _fusion(history: History, stage: int, place: Place) -> str:
    """The fusion in whose computation an instruction is, or that it is itself."""
    if place.opcode in ("fusion", "call"):
        return place.name
    text = history.text(stage)
    for block, _ in text.sites.get(place.computation, ()):
        for at in range(len(block.rows)):
            parsed = block.parsed(at)
            if (
                parsed is not None
                and place.computation in parsed.called
                and parsed.opcode in ("fusion", "call")
            ):
                return parsed.name
    return ""


def kernel_files(module: Module, fusion: str) -> tuple[str, ...]:
    """The files of a dump about the function that was made of a fusion."""
    if not fusion:
        return ()
    wanted = _plain(fusion)
    found = []
    for file in module.others:
        if file.name.kind in _KERNELS:
            function = _plain(module.function_of(file))
            function = function.removeprefix("__compute_module_").removesuffix("_kernel_module")
            if function == wanted:
                found.append(file.path)
    return tuple(found)


def _plain(name: str) -> str:
    return _OTHER_CHARACTERS.sub("_", name)


def to_json(found: Life) -> dict[str, Any]:
    """A life as `passes --follow --json` gives it."""
    return {
        "instruction": found.place.name,
        "computation": found.place.computation,
        "stage": found.label,
        "stages": [
            {
                "label": moment.label,
                "instructions": [
                    {
                        "name": trace.place.name,
                        "computation": trace.place.computation,
                        "opcode": trace.place.opcode,
                        "shape": trace.place.shape,
                        "how": trace.how,
                        "sure": trace.sure,
                        "what": list(trace.what),
                    }
                    for trace in moment.traces
                ],
            }
            for moment in found.moments
        ],
        "sources": [
            {
                "file": frame.file,
                "line": frame.line,
                "column": frame.column,
                "function": frame.function,
                "how": how,
            }
            for frame, how in found.sources
        ],
        "fusion": found.fusion or None,
        "kernels": list(found.kernels),
    }


def to_text(found: Life) -> str:
    """A life for people: the stages at which something happened."""
    place = found.place
    lines = [f"{place.name}   {place.opcode} {place.shape}   in {place.computation}, at {found.label}"]
    for frame, how in found.sources:
        function = f" {frame.function}" if frame.function else ""
        column = f":{frame.column}" if frame.column else ""
        lines.append(
            f"  from {frame.file}:{frame.line}{column}{function}" + ("" if how == "own" else f"   ({how})")
        )
    for number, moment in enumerate(found.moments):
        if number and number < len(found.moments) - 1 and not moment.eventful and moment.label != found.label:
            continue
        lines.append(f"{'▶' if moment.label == found.label else ' '} {moment.label}")
        lines += [f"    {_trace_words(trace)}" for trace in moment.traces] or ["    not there"]
    if found.fusion:
        lines.append(f"  at the end in {found.fusion}")
    lines += [f"  its code: {path}" for path in found.kernels]
    return "\n".join(visible(line) for line in lines)


def _trace_words(trace: Trace) -> str:
    place = trace.place
    how = "" if trace.how == SAME else f"   {trace.how}"
    sure = "" if trace.sure == CERTAIN else f", {trace.sure}"
    what = f"   changed: {', '.join(trace.what)}" if trace.what else ""
    return f"{place.name}   {place.opcode} {place.shape}   in {place.computation}{how}{sure}{what}"
