"""A session without an engine: it takes the same commands and gives the same states, at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.session import Options, State, Stop

START = {
    "event": "start", "module": "jit_train_step", "inputs": "made", "inputs_file": "", "seed": 0, "faithful": False,
    "reasons": ["the inputs are made up"], "devices": 1, "grain": "unit", "engine": {"jaxlib": "0.10.2"},
    "supplied": [],
}  # fmt: skip


def summary(largest: float, nan: int = 0) -> dict[str, Any]:
    """A value's summary as the worker makes it."""
    return {
        "shape": "f32[4,8]", "dtype": "f32", "min": -1.5, "max": largest, "mean": 0.25, "std": 1.0, "nan": nan,
        "inf": 0, "zero": 3, "count": 32, "first": [0.5, "nan" if nan else -0.25, largest],
    }  # fmt: skip


START["parameters"] = [{"name": "x", "shape": "f32[4,8]", "value": summary(0.2), "use": "indices up to 7"}]


def stop_at(n: int, largest: float, nan: int = 0) -> Stop:
    """The n-th time (from 0) at the multiplication in the loop of `dumps.TRAIN`."""
    event = {
        "event": "stop", "instruction": "mul.3", "computation": "region_0.4", "trips": 3, "reason": 'breakpoint="true"',
        "path": [{"computation": "main.88", "iteration": None}, {"computation": "region_0.4", "iteration": n}],
        "partition": None, "value": summary(largest, nan), "key": [4, 2 * n + 1, 6],
        "position": {"path": [[4, 2 * n + 1]], "index": 6, "phase": 1},
    }  # fmt: skip
    return Stop(tuple(event["key"]), event, n + 1)


STOPS = [stop_at(0, 1.9), stop_at(1, 2.5), stop_at(2, 41.2, nan=2)]
END = {
    "event": "end", "outputs": [summary(41.2)], "self_check": "match", "recorded": "absent", "unknown": ["custom.1"],
    "reasons": ["custom.1: a host callback"], "status": "done", "position": {"path": [], "index": 7, "phase": 0},
    "key": [7],
}  # fmt: skip


OVERVIEW = {
    "table": {
        "rows": [[0.5, 1.5], [2.5, 7.5]], "shape": [2, 2], "row": 0, "column": 1, "origin": [0, 0], "steps": [1, 1],
        "cut": [0, 0],
    },
    "histogram": {"counts": [1, 2, 1], "low": 0.5, "high": 7.5},
    "heat": {"magnitudes": [[0.5, 1.5], [2.5, 7.5]], "marks": [[0, 0], [0, 0]], "block": [1, 1], "grid": [2, 2]},
    "worst": {"index": [1, 1], "kind": "largest", "value": 7.5},
    "distinct": None,
    "size": [2, 2],
}  # fmt: skip
TRACE = {
    "places": [
        {"computation": "region_0.4", "instruction": "dot.9", "opcode": "dot", "path": [], "index": [1, 1],
         "value": 7.5, "source": "/home/me/model.py:87"},
    ],
    "complete": True,
}  # fmt: skip
UNKNOWN = [
    {"computation": "main.88", "instruction": "custom.1", "opcode": "custom-call", "target": "my_kernel",
     "shape": "f32[4]", "operands": 1, "reason": "a host callback is never called"},
]  # fmt: skip
SEEN = {
    "overview": OVERVIEW, "trace": TRACE, "compare": {"exact": True}, "save": {"path": "/tmp/x.npy", "bytes": 256},
    "unknown": {"unknown": UNKNOWN},
    "outside": {"count": 2, "elements": [{"index": [1, 0], "value": 2.5}, {"index": [1, 1], "value": 7.5}]},
    "iterations": {"length": 3, "rows": [{"iteration": n, "value": summary(2.0**n, n // 2)} for n in range(3)]},
}  # fmt: skip


class FakeSession:
    """Walks over `STOPS` to `END`. With `slow` it stays busy until `finish` is called."""

    made: ClassVar[list[FakeSession]] = []
    slow = False

    def __init__(self, options: Options, on_change: Any, specs: Any) -> None:
        self.options = options
        self._on_change = on_change
        self.state = State(specs=specs)
        self.calls: list[tuple[Any, ...]] = []
        self.at = -1
        self.closed = False
        self.crash: Any = None
        type(self).made.append(self)

    def tell(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        self._on_change(self.state)

    def move(self, how: str, backward: bool = False, target: Any = None) -> None:
        if self.state.status == "busy":
            raise HloTuiError("busy", self.state.activity)
        self.calls.append((how, backward, target))
        self.tell(status="busy", activity="running to the next stop", since=0.0, problem=None)
        if not self.slow:
            self.finish(-1 if backward else 1)

    def finish(self, way: int = 1) -> None:
        self.at = max(-1, self.at + way)
        if self.at >= len(STOPS):
            self.tell(status="standing", activity="", at="end", current=None, number=0, end=END, start=START)
        elif self.at < 0:
            self.tell(status="standing", activity="", at="begin", current=None, number=0, start=START)
        else:
            history = tuple(dict.fromkeys((*self.state.history, STOPS[self.at])))
            self.tell(
                status="standing", activity="", at="stop", current=STOPS[self.at], number=self.at + 1,
                history=tuple(sorted(history)), start=START,
            )  # fmt: skip

    def run_until(self, spec: Any, backward: bool = False, begin: bool = False) -> None:
        self.calls.append(("until", spec.text(), backward, begin))
        if spec.text() == "op:nothing":
            self.tell(said="op:nothing: not met between here and the end")
            return
        self.at = 1 if spec.kind == "first" else self.at
        self.tell(said="")
        self.finish(-1 if backward else 1)

    def save_crash(self, target: Any, then: Any) -> None:
        self.calls.append(("save_crash", str(target)))
        then({"path": str(target), "files": ["run.py"], "again": "signal 6 (SIGABRT)"})

    def start(self) -> None:
        self.calls.append(("start",))
        self.tell(status="standing", start=START)

    def supply(self, supplies: Any) -> None:
        self.calls.append(("supply", supplies))
        self.options = replace(self.options, supplies=supplies)
        given = [(*one.partition("=")[0].split("/"), one.partition("=")[2]) for one in supplies]
        supplied = [{"computation": c, "instruction": i, "value": v} for c, i, v in given]
        self.tell(start={**START, "supplied": supplied}, history=(), at="begin", current=None)

    def save_inputs(self, path: str, then: Any) -> None:
        self.calls.append(("save_inputs", path))
        then({"path": path, "bytes": 512})

    def set_watches(self, watches: Any) -> None:
        self.calls.append(("watches", watches))
        self.tell(watches=watches)

    def goto(self, stop: Stop) -> None:
        self.calls.append(("goto", stop))
        self.at = STOPS.index(stop) - 1
        self.finish()

    def set_specs(self, specs: Any) -> None:
        self.calls.append(("specs", specs))
        self.tell(specs=specs)

    def look(self, computation: str, instruction: str) -> None:
        self.calls.append(("look", computation, instruction))
        self.tell(values=(((computation, instruction), summary(7.5)),))

    def inspect(self, params: dict[str, Any], then: Any) -> None:
        self.calls.append(("inspect", params))
        then(SEEN[params["what"]])

    def change(self, computation: str, instruction: str, to: str) -> None:
        self.calls.append(("change", computation, instruction, to))
        self.tell()

    def undo_changes(self) -> None:
        self.calls.append(("undo",))

    def use_inputs(self, inputs: str, seed: int = 0) -> None:
        self.calls.append(("inputs", inputs, seed))
        self.options = replace(self.options, inputs=inputs, seed=seed)
        self.at = -2
        self.finish()

    def regrain(self, grain: str) -> None:
        self.options = replace(self.options, grain=grain)
        self.calls.append(("grain", grain))
        self.tell()

    def interrupt(self) -> None:
        self.calls.append(("interrupt",))
        self.tell(
            status="standing", activity="", problem=HloTuiError("interrupted", "it stands where it stood")
        )

    def close(self) -> None:
        self.closed = True
