"""What a bug report needs of one module, as one archive with a summary to paste."""

from __future__ import annotations

import getpass
import gzip
import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import Message

from hlo_tui.cutting.scrub import Scrubber
from hlo_tui.cutting.summary import summary_of
from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module
from hlo_tui.dump.opening import path_of, readable_stages
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds
from hlo_tui.hlo.loading import open_bytes, read_proto
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.snapshots import read_container
from hlo_tui.hlo.source import FileSource, Source, SpanSource
from hlo_tui.hlo.visible import visible

_HEAD = 1 << 16
# What of the files beside a module says how it was compiled.
_BESIDE = {
    "buffer-assignment": "where values lie in memory", "memory-usage-report": "who owns the memory",
    "debug-options": "the flags that were not default", "hlo-config": "the module's configuration",
    "metadata": "the passes that ran, and how long", "thunk-sequence": "what the executable runs",
    "gpu-target-config": "the GPU", "autotune-results": "what autotuning chose",
    "execution-options": "how it was run", "tpu-comp-env": "the TPU's flags",
}  # fmt: skip
_MESSAGES: dict[str, type[Message]] = {
    kinds.HLO_PROTO: pb.HloProto, kinds.MODULE_PROTO: pb.HloModuleProto, kinds.SNAPSHOT: pb.HloSnapshot,
    kinds.UNOPTIMIZED: pb.HloUnoptimizedSnapshot,
}  # fmt: skip
# How a compiled kernel begins in a backend configuration: MLIR bytecode, in base64.
_KERNEL = b"TUzvU"


@dataclass(frozen=True, slots=True)
class Item:
    """A file of the archive.

    Attributes:
        name: in the archive.
        why: what it is there for.
        data: its bytes.
    """

    name: str
    why: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Bundle:
    """What goes into the archive; the summary is its first item.

    Attributes:
        directory: that the files are in.
        items: the files.
        notes: what a person should know before giving it away, a sentence each.
    """

    directory: str
    items: tuple[Item, ...]
    notes: tuple[str, ...]

    @property
    def summary(self) -> str:
        """What to paste, as Markdown."""
        return self.items[0].data.decode()


def collect(
    listing: Listing, module: Module, *, snapshot: bool = False, passes: bool = False, scrub: bool = False
) -> Bundle:
    """Put together what belongs to a module.

    Args:
        listing: the dump.
        module: one of it.
        snapshot: take the last recorded run along: the real inputs, which may be private and large.
        passes: take the module after every pass along.
        scrub: take paths and user names out of everything.

    Raises:
        HloTuiError: no stage of the module was dumped, or a file cannot be read.
    """
    chosen = list(_files(module, snapshot, passes))
    if not readable_stages(module) and not (snapshot and module.executions):
        hint = (
            "--snapshot takes the last recorded run, which holds the module"
            if module.executions
            else "a bug report needs at least the module before the passes: --xla_dump_hlo_as_text"
        )
        raise HloTuiError(f"no stage of {visible(module.name)} was dumped", visible(listing.root), hint)
    items = [Item(file.path.rpartition("/")[2], why, _read(listing, file)) for file, why in chosen]
    notes: list[str] = []
    called = module.name or "module"
    if scrub:
        items, notes, called = _scrubbed(listing, [file for file, _ in chosen], items, called)
    name = f"{called}-{module.id}" if module.id is not None else called
    about = summary_of(called, module.id, [(item.name, item.why, item.data) for item in items])
    summary = Item("summary.md", "this", about.encode("utf-8", "replace"))
    if not module.executions:
        notes.append("no run was recorded: nobody else has the inputs")
    elif not snapshot:
        notes.append("the inputs are not in it; --snapshot takes the last recorded run along")
    return Bundle(_plain(name), (summary, *items), tuple(notes))


def write(bundle: Bundle, path: Path, root: str) -> None:
    """Write the archive: the same files make the same bytes.

    Args:
        bundle: what to write.
        path: of a .tar.gz that is not there yet.
        root: the dump, into which nothing is written.

    Raises:
        HloTuiError: it is there already, would be inside of the dump, or cannot be written.
    """
    shown = visible(str(path))
    if not path.name.endswith((".tar.gz", ".tgz")):
        raise HloTuiError("not written", f"{shown}: the archive is a .tar.gz", "give a name that ends so")
    if os.path.isdir(root) and path.resolve().is_relative_to(Path(root).resolve()):
        raise HloTuiError("not written", f"{shown} is inside the dump", "write it somewhere else")
    try:
        with (
            path.open("xb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for item in bundle.items:
                entry = tarfile.TarInfo(f"{bundle.directory}/{item.name}")
                entry.size = len(item.data)
                archive.addfile(entry, io.BytesIO(item.data))
    except FileExistsError as error:
        raise HloTuiError("not written", f"{shown} is there already", "give another name with -o") from error
    except OSError as error:
        raise HloTuiError("not written", f"{shown}: {error.strerror}") from error


def _plain(name: str) -> str:
    """A name that is safe as that of a directory."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)[:200]


def _files(module: Module, snapshot: bool, passes: bool) -> Iterator[tuple[File, str]]:
    stages = readable_stages(module)
    for place, stage in enumerate(stages):
        if passes or place in (0, len(stages) - 1):
            why = f"the module, {stage.label}" if stage.point.step is None else "the module after a pass"
            # The proto has what the text leaves out, and is what tools take.
            yield from (
                (file, why) for file in stage.files if file.name.form in ("txt", "hlo.pb", "hlo.pb.gz")
            )
    for file in module.others:
        if file.name.kind in _BESIDE:
            yield file, _BESIDE[file.name.kind]
    if snapshot and module.executions:
        yield module.executions[-1], "the last recorded run: module and inputs"


def _read(listing: Listing, file: File) -> bytes:
    source: Source = FileSource(path_of(listing, file))
    if file.span is not None:
        begin, length = file.span
        source = SpanSource(source, begin, begin + length, file.path)
    return source.read(0, source.size)


def _scrubbed(
    listing: Listing, files: list[File], items: list[Item], called: str
) -> tuple[list[Item], list[str], str]:
    try:
        user = [getpass.getuser()]
    except (OSError, KeyError):
        user = []
    scrubber = Scrubber(user)
    messages = [_message(listing, file) for file in files]
    for item, message in zip(items, messages, strict=True):
        data = item.data if message is None else message.SerializeToString()
        scrubber.look(data)
        scrubber.look_for_words(data)
    made, notes = [], []
    for item, message in zip(items, messages, strict=True):
        name = scrubber.name(item.name)
        if message is not None:
            scrubber.proto(message)
            data = message.SerializeToString(deterministic=True)
            data = gzip.compress(data, mtime=0) if item.name.endswith(".gz") else data
        elif b"\0" in item.data:
            notes.append(f"left out: {visible(name)} is binary, and nobody knows what is in it")
            continue
        else:
            data = scrubber.text(item.data)
        made.append(Item(name, item.why, data))
        if _KERNEL in data:
            notes.append(f"{visible(name)} holds compiled kernels, in which paths may stand still")
    notes += [f"{visible(name)} is a word of the program too and was not replaced" for name in scrubber.kept]
    if scrubber.unknown:
        notes.append(f"{scrubber.unknown} fields without a name here were left out of the protos")
    notes.append("names of functions, modules and files are as they were")
    return made, notes, scrubber.name(called)


def _message(listing: Listing, file: File) -> Message | None:
    """A proto as a message, None for text."""
    if file.span is not None:
        return None
    path = path_of(listing, file)
    source = open_bytes(path)
    kind = kinds.sniff(source.read(0, _HEAD), Path(source.name).name)
    if kind == kinds.CONTAINER:
        return read_container(source)
    if kind not in _MESSAGES:
        return None
    message = _MESSAGES[read_proto(path).kind]()
    message.ParseFromString(source.read(0, source.size))
    return message
