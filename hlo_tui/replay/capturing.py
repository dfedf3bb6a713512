"""Writing down the slice that ends the process, and what it was given, just before it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.hlo.printing import print_module
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.atwork import Board
from hlo_tui.replay.slices import Compiled

Json = dict[str, Any]


class Capture:
    """Stands between the engine and XLA, and looks for one instruction.

    The files that it leaves are those that `reproduced` reads.
    """

    def __init__(
        self,
        compile_module: Callable[[bytes], Compiled],
        board: Board,
        wanted: tuple[str, str],
        directory: Path,
        about: Json,
    ) -> None:
        """Take how slices are compiled, where it stands what is being done, the `Doing.key` that is looked for, where
        to write, and what is to be said of the surroundings: platform and devices.
        """
        self._compile = compile_module
        self._board = board
        self._wanted = wanted
        self._directory = directory
        self._about = {**about, "versions": xla.versions()}

    def compile(self, module: bytes) -> Compiled:
        """Compile a slice, and look again each time it is run."""
        if self._is_wanted():
            self._write(module, None)
        compiled = self._compile(module)

        def run(leaves: list[Any]) -> list[Any]:
            if self._is_wanted():
                self._write(module, leaves)
            return compiled(leaves)

        return run

    def _is_wanted(self) -> bool:
        return any(doing.key() == self._wanted for doing in self._board.read())

    def _write(self, module: bytes, leaves: list[Any] | None) -> None:
        (self._directory / "module.pb").write_bytes(module)
        text = print_module(pb.HloModuleProto.FromString(module), large_constants=True).text
        (self._directory / "module.hlo").write_bytes(text)
        described = []
        stored: dict[str, Any] = {}
        for number, leaf in enumerate(leaves or ()):
            parts = [np.asarray(part, order="C") for part in getattr(leaf, "parts", (leaf,))]
            described.append({"dtype": parts[0].dtype.name, "shape": list(parts[0].shape)})
            for device, part in enumerate(parts):
                # Raw bytes: the file format has no name for the small float types.
                stored[f"{number}.{device}"] = np.frombuffer(part.tobytes(), np.uint8)
        if leaves is not None:
            with (self._directory / "inputs.npz").open("wb") as file:
                np.savez(file, allow_pickle=False, **stored)
        about = {**self._about, "inputs": None if leaves is None else described}
        (self._directory / "about.json").write_text(json.dumps(about, indent=1) + "\n")
