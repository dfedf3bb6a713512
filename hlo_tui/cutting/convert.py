"""One form of a module turned into another, and what gets lost on the way."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from hlo_tui.cutting import forms
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import loading
from hlo_tui.hlo.printing import print_module
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.engine import Engine

# Packed alike whenever it is made.
_NO_TIME = 0


@dataclass(frozen=True, slots=True)
class Converted:
    """A module in another form.

    Attributes:
        data: the file's bytes, unpacked.
        source, form: what it was, and what it is.
        lost: what the new form does not hold or the old one did not, a sentence each.
    """

    data: bytes
    source: str
    form: str
    lost: tuple[str, ...]


def convert(
    path: Path,
    to: str,
    member: str | None = None,
    draw: Callable[[bytes, str, str], bytes] | None = None,
    engine: Engine | None = None,
) -> Converted:
    """Turn a file into another form.

    Args:
        path: HLO text, any of the protos, or StableHLO.
        to: one of `forms.FORMS`.
        member: which module, where the file holds several.
        draw: makes a picture of HLO text: given the text, the module's name and the form.
        engine: a worker to ask; a new one, which ends, where none is given.

    Raises:
        HloTuiError: the file cannot be read, or the form is unknown.
        EngineError: XLA does not accept the module, or has no such form for it.
    """
    source = forms.found_form(path)
    if source == forms.TEXT and to == forms.TEXT:
        text = loading.open_document(path, member).source
        return Converted(text.read(0, text.size), source, to, ())
    if to in (forms.HTML, forms.SVG) and source == forms.TEXT and draw is not None:
        text = loading.open_document(path, member).source
        data = draw(text.read(0, text.size), path.name, to)
        return Converted(data, source, to, tuple(_lost_in(to)))
    if to in (forms.STABLEHLO, forms.DOT):
        data, lost = _by_xla(path, member, source, to, engine)
        return Converted(data, source, to, (*lost, *_lost_in(to)))
    loaded, lost = _read(path, member, source, engine)
    if to in (forms.PROTO, forms.TEXT_PROTO):
        return Converted(*_as_proto(loaded, to, source, lost))
    printed = print_module(loaded.module, large_constants=to == forms.TEXT)
    if to == forms.TEXT:
        return Converted(printed.text, source, to, (*lost, *_lost_as_text(loaded, printed.unknown_fields)))
    if draw is None or to not in (forms.HTML, forms.SVG):
        raise HloTuiError("no such form", visible(to), f"there are: {', '.join(forms.FORMS)}")
    return Converted(draw(printed.text, loaded.module.name, to), source, to, (*lost, *_lost_in(to)))


def write(converted: Converted, path: Path) -> None:
    """Write the bytes, packed where the name ends with `.gz`.

    Raises:
        HloTuiError: they cannot be written.
    """
    data = converted.data
    if path.name.endswith(".gz"):
        data = gzip.compress(data, mtime=_NO_TIME)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise HloTuiError("not written", f"{visible(str(path))}: {error.strerror}") from error


def _by_xla(
    path: Path, member: str | None, source: str, to: str, given: Engine | None
) -> tuple[bytes, list[str]]:
    """What only XLA can make, by the worker."""
    engine = given or Engine()
    with tempfile.TemporaryDirectory(prefix="hlo-tui-convert-") as scratch:
        out = Path(scratch, "out")
        try:
            told: dict[str, Any] = engine.ask(
                "translate",
                {
                    "path": str(path.absolute()),
                    "member": member,
                    "stablehlo": source == forms.STABLEHLO,
                    "to": to,
                    "out": str(out),
                },
            )
        finally:
            if given is None:
                engine.close()
        return out.read_bytes(), list(told["notes"])


def _read(
    path: Path, member: str | None, source: str, engine: Engine | None
) -> tuple[loading.LoadedProto, list[str]]:
    if source in (forms.PROTO, forms.TEXT_PROTO):
        return loading.read_proto(path), []
    data, lost = _by_xla(path, member, source, forms.PROTO, engine)
    if source == forms.STABLEHLO:
        lost.append("names of values, and dialects other than StableHLO")
    return loading.LoadedProto(source, pb.HloModuleProto.FromString(data)), lost


def _as_proto(
    loaded: loading.LoadedProto, to: str, source: str, lost: list[str]
) -> tuple[bytes, str, str, tuple[str, ...]]:
    whole = pb.HloProto(hlo_module=loaded.module)
    if loaded.buffer_assignment is not None:
        whole.buffer_assignment.CopyFrom(loaded.buffer_assignment)
    lost = [*lost, *_lost_run(loaded)]
    if to == forms.PROTO:
        return whole.SerializeToString(deterministic=True), source, to, tuple(lost)
    unknown = print_module(loaded.module).unknown_fields
    if unknown:
        lost.append(f"{unknown} fields that have no name here")
    return text_format.MessageToString(whole).encode(), source, to, tuple(lost)


def _lost_run(loaded: loading.LoadedProto) -> list[str]:
    lost = []
    if any(loaded.arguments):
        lost.append("the arguments of the recorded run")
    if loaded.result is not None:
        lost.append("the result of the recorded run")
    return lost


# Fields of a module that its text does not have.
_NOT_IN_TEXT = {
    "id": "the module's number", "profile_info": "profile information",
    "cross_program_prefetches": "cross-program prefetches", "spmd_output_sharding": "the output's sharding",
    "spmd_parameters_shardings": "the parameters' shardings", "use_auto_spmd_partitioning": "automatic partitioning",
    "dynamic_parameter_binding": "dynamic parameter bindings", "is_dynamic": "whether it is dynamic",
}  # fmt: skip


def _lost_as_text(loaded: loading.LoadedProto, unknown: int) -> list[str]:
    lost = _lost_run(loaded)
    if loaded.buffer_assignment is not None:
        lost.append("the buffer assignment")
    present = {field.name for field, _ in loaded.module.ListFields()}
    lost += [words for name, words in _NOT_IN_TEXT.items() if name in present]
    if unknown:
        lost.append(f"{unknown} fields that have no name here (they are comments in the text)")
    return lost


def _lost_in(to: str) -> list[str]:
    if to == forms.STABLEHLO:
        return ["layouts, the schedule, and names of instructions"]
    return ["a picture cannot be read back"]
