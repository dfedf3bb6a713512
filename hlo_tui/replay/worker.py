"""The worker process: the only one that imports jax. It answers requests on its standard input, one at a
time.

Run as `python -m hlo_tui.replay.worker`. It ends when its parent does.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.replay import looking, looks, standins, translating, xla
from hlo_tui.replay.arrays import shape_text
from hlo_tui.replay.atwork import NOTHING, Board, Doing, Phase
from hlo_tui.replay.capturing import Capture
from hlo_tui.replay.comparing import Comparing
from hlo_tui.replay.debugger import Debugger, Json
from hlo_tui.replay.diskcache import DiskCache, StoredSlices, cache_directory
from hlo_tui.replay.events import read_position
from hlo_tui.replay.grain import Grain, Interrupted
from hlo_tui.replay.inputs import parameters, save_npz
from hlo_tui.replay.limits import Room, estimate
from hlo_tui.replay.opening import Target, choose_inputs, open_target
from hlo_tui.replay.progress import Progress, Words
from hlo_tui.replay.protocol import Closed, receive, send
from hlo_tui.replay.slices import Compiled, SliceCache
from hlo_tui.replay.standins import NO_STAND_INS
from hlo_tui.replay.stopspec import from_json
from hlo_tui.replay.supplies import Supplies
from hlo_tui.replay.survey import survey
from hlo_tui.replay.uses import Uses, find_uses
from hlo_tui.replay.values import summarize

_OUT_OF_MEMORY = EngineError(
    "out of memory", "a value did not fit", "run a smaller part: a breakpoint further up, or unit grain"
)


class Worker:
    """Holds one replay and carries out what is asked of it."""

    def __init__(self, out: IO[bytes], board: Board) -> None:
        self._out = out
        self._board = board
        self._progress = Progress(self._words(Words(board)), self.say)
        self._debugger: Debugger | None = None
        self._target: Target | None = None
        self._stand_ins = NO_STAND_INS
        self._comparing = Comparing(board)
        self._lock = threading.Lock()

    def _words(self, words: Words) -> Callable[[], str]:
        return lambda: words.now(None if self._debugger is None else self._debugger.evaluator)

    def say(self, message: Json) -> None:
        """Write one message; what runs beside the requests may write as well."""
        with self._lock:
            send(self._out, message)

    def interrupt(self) -> None:
        """Ask the request that is under way to stop at the next instruction."""
        if self._debugger is not None:
            self._debugger.interrupt(True)
        self._comparing.interrupt()

    def handle(self, request: Json) -> None:
        """Carry out a request and answer it, whatever becomes of it."""
        answer: Json
        self._progress.begin()
        try:
            answer = {"result": self._dispatch(str(request.get("method")), request.get("params") or {})}
        except Interrupted:
            answer = {"interrupted": True}
        except HloTuiError as error:
            answer = {"error": _written(error)}
        except MemoryError:
            answer = {"error": _written(_OUT_OF_MEMORY)}
        self._board.mark(NOTHING)
        self._progress.end()
        self.say({"id": request.get("id"), **answer})

    def _dispatch(self, method: str, params: Json) -> Json:
        if method == "open":
            return self._open(params)
        if method.startswith("compare."):
            return self._comparing.handle(method, params)
        if method == "translate":
            return translating.translate(params, self._board)
        if method == "cost":
            return self._cost(params)
        debugger = self._debugger
        if debugger is None:
            raise HloTuiError("nothing is being replayed", "no module has been opened")
        debugger.interrupt(False)
        if method == "stops":
            debugger.watches = [(computation, name) for computation, name in params.get("watches", ())]
            return {"stops": debugger.set_stops([from_json(written) for written in params["specs"]])}
        if method == "move":
            target = params.get("target")
            return debugger.move(params["how"], params["backward"], tuple(target) if target else None)
        if method == "until":
            return debugger.run_until(
                from_json(params["spec"]), params["backward"], params.get("begin", False)
            )
        if method == "goto":
            return debugger.goto(read_position(params["position"]))
        if method == "value":
            return debugger.value(params["computation"], params["instruction"])
        if method == "change":
            return debugger.change(params["computation"], params["instruction"], params["to"])
        if method == "change_first":
            return debugger.change_first(from_json(params["spec"]), params["to"])
        if method == "undo":
            return debugger.undo_changes()
        if method == "look":
            return looks.look(debugger, params)
        if method == "supply":
            return self._supply(debugger, params)
        if method == "save_inputs":
            return self._save_inputs(debugger, params)
        if method == "inputs":
            return self._take_inputs(debugger, params)
        if method == "survey":
            return survey(debugger)
        if method == "grain":
            return debugger.regrain(Grain(params["grain"]))
        raise HloTuiError("an unknown request", method)

    def _cost(self, params: Json) -> Json:
        self._board.mark(Doing(Phase.PARSE).record())
        target = open_target(Path(params["path"]), params.get("member"), as_written=True)
        module = target.module.SerializeToString(deterministic=True)
        return {"cost": xla.start("cpu", 1).counted_cost(module)}

    def _open(self, params: Json) -> Json:
        self._board.mark(Doing(Phase.PARSE).record())
        room = Room(params["allow_memory"])
        target = open_target(Path(params["path"]), params.get("member"), room)
        program = target.program()
        devices, grain = target.topology.devices, Grain(params["grain"])
        room.check(estimate(program, devices, grain is Grain.BODY))
        backend = xla.start(params["platform"], devices)
        inputs = choose_inputs(target, program, params["inputs"], params["seed"])
        refused = {(c, i): reason for c, i, reason in params["refused"]}
        cache = SliceCache(self._compiler(backend, params))
        watched = target.path.absolute().parent
        debugger = Debugger(program, inputs, backend, cache, target.topology, grain, refused, watched)
        debugger.evaluator.at_work(self._board, params["threads"])
        self._stand_ins = standins.load(params.get("standins"), watched)
        self._seed = params["seed"]
        debugger.evaluator.supply(self._supplies(debugger, params.get("supplies", ())))
        debugger.evaluator.keeper.budget = room.budget()
        debugger.room = room
        debugger.on_log = lambda event: self.say({"log": event})
        self._debugger, self._target = debugger, target
        # What a replay holds from here to its end is not to be searched for garbage at every few hundred frames.
        gc.unfreeze()
        gc.freeze()
        return self._start_event(debugger, target)

    def _supplies(self, debugger: Debugger, asked: Sequence[str]) -> Supplies:
        devices = debugger.topology.devices
        return Supplies(debugger.program, asked, self._stand_ins, self._seed, devices)

    def _supply(self, debugger: Debugger, params: Json) -> Json:
        assert self._target is not None
        at = debugger.supply(self._supplies(debugger, params["supplies"]))
        return {"start": self._start_event(debugger, self._target), "at": at}

    def _compiler(self, backend: xla.Backend, params: Json) -> Callable[[bytes], Compiled]:
        if "capture" in params:
            wanted, directory = params["capture"]["wanted"], Path(params["capture"]["directory"])
            about = {"platform": params["platform"], "devices": backend.replicas}
            return Capture(backend.compile, self._board, tuple(wanted), directory, about).compile
        if params["stored"] and params["platform"] == "cpu":
            return StoredSlices(backend, DiskCache(cache_directory()), self._board).compile
        return backend.compile

    def _take_inputs(self, debugger: Debugger, params: Json) -> Json:
        assert self._target is not None
        inputs = choose_inputs(self._target, debugger.program, params["inputs"], params["seed"])
        self._seed = params["seed"]
        debugger.evaluator.supply(self._supplies(debugger, debugger.evaluator.supplies.asked))
        debugger.use_inputs(inputs)
        return self._start_event(debugger, self._target)

    @staticmethod
    def _save_inputs(debugger: Debugger, params: Json) -> Json:
        path = Path(params["path"]).expanduser()
        looking.outside_of(path, debugger.watched)
        return save_npz(debugger.program, debugger.inputs.values, debugger.evaluator.changes, path)

    @staticmethod
    def _start_event(debugger: Debugger, target: Target) -> Json:
        inputs = debugger.inputs
        supplies = debugger.evaluator.supplies
        reasons = [*target.reasons, *inputs.reasons, *supplies.reasons()]
        uses = find_uses(debugger.program) if inputs.seed is not None else Uses()
        return {
            "event": "start",
            "module": debugger.program.proto.name,
            "inputs": inputs.kind,
            "inputs_file": inputs.source,
            "seed": inputs.seed,
            "faithful": not reasons,
            "reasons": reasons,
            "supplied": supplies.listed(),
            "devices": target.topology.devices,
            "grain": str(debugger.evaluator.grain),
            "parameters": [
                {
                    "name": p.name,
                    "shape": shape_text(p.shape),
                    "value": summarize(value),
                    "use": uses.of(p.parameter_number, ()).words(),
                }
                for p, value in zip(parameters(debugger.program), inputs.values, strict=True)
            ],
            "engine": xla.versions(),
        }


def _written(error: HloTuiError) -> Json:
    return {"title": error.title, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}


def _read_requests(stream: IO[bytes], requests: queue.SimpleQueue[Json], worker: Worker) -> None:
    while True:
        try:
            message = receive(stream)
        except Closed:
            # The main thread may be deep in a compile that cannot be interrupted; nobody waits for it any
            # more.
            os._exit(0)
        if message.get("method") == "interrupt":
            worker.interrupt()
        else:
            requests.put(message)


def main() -> None:
    """Serve requests until the parent closes the stream or dies."""
    for number in (signal.SIGINT, signal.SIGHUP):
        # A key at the terminal is for the screen alone.
        signal.signal(number, signal.SIG_IGN)
    # XLA and others print on descriptor 1 as they like: the messages get descriptors of their own.
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    worker = Worker(outgoing, Board(int(sys.argv[1])))
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(incoming, requests, worker), daemon=True).start()
    try:
        while True:
            worker.handle(requests.get())
    except Closed:
        sys.exit(0)


if __name__ == "__main__":
    main()
