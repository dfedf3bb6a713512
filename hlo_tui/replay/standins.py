"""Stand-ins: a person's own Python functions for custom calls that cannot be run here.

They come from one file of the person's own, never from a dump:

    from hlo_tui.replay.standins import stand_in

    @stand_in("my_kernel")
    def my_kernel(x, y, *, backend_config):
        return x + y

Operands are numpy arrays (tuples of them where the operand is a tuple), `backend_config` is the call's own text; the
result is an array, or a tuple where the call gives one.

What an infeed or a recv waits for from outside can be given the same way, each time it is run: `iteration` has those of
the loops around it, the outermost first.

    @stand_in("infeed")
    def batch(*, backend_config, iteration):
        return images[iteration[-1]], labels[iteration[-1]]

    @stand_in("recv")
    def received(*, channel_id, iteration):
        return numpy.zeros((8, 128), numpy.float32)
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hlo_tui.errors import HloTuiError

Function = Callable[..., Any]
_F = TypeVar("_F", bound=Function)

_registered: dict[str, Function] = {}


def stand_in(target: str) -> Callable[[_F], _F]:
    """Register a function for a custom call's target, "infeed" or "recv"; for use in the person's own file."""

    def register(function: _F) -> _F:
        _registered[target] = function
        return function

    return register


class Failed(Exception):
    """The person's code raised an error; the text says which."""


@dataclass(frozen=True, slots=True)
class StandIns:
    """The functions of one file.

    Attributes:
        path: the file; None where there is none.
        functions: by custom-call target.
    """

    path: Path | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)


NO_STAND_INS = StandIns()


def default_path() -> Path:
    """Where a person's stand-ins are by themselves."""
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(config).expanduser() / "hlo-tui" / "standins.py"


def load(given: str | None, watched: Path) -> StandIns:
    """The stand-ins of a file.

    Args:
        given: the file; None for the one at `default_path`, if there is one.
        watched: the directory of the dump, from which nothing is taken.

    Raises:
        HloTuiError: the file is not there, lies in the watched directory, or its code raises an error.
    """
    path = Path(given).expanduser() if given is not None else default_path()
    if given is None and not path.is_file():
        return NO_STAND_INS
    if path.resolve().is_relative_to(watched.resolve()):
        hint = "stand-ins are run as code, and a dump is not trusted: keep them somewhere else"
        raise HloTuiError("no stand-ins from a dump", f"{path} is inside the watched directory", hint)
    spec = importlib.util.spec_from_file_location("hlo_tui_standins", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise HloTuiError("the stand-ins cannot be loaded", f"{path} is no Python file")
    _registered.clear()
    module = importlib.util.module_from_spec(spec)
    try:
        guarded(spec.loader.exec_module, module)
    except Failed as error:
        raise HloTuiError("the stand-ins cannot be loaded", f"{path}: {error}") from error
    return StandIns(path, dict(_registered))


def guarded(function: Function, *arguments: Any, **named: Any) -> Any:
    """Call a person's code, whatever it may raise.

    Raises:
        Failed: it raised an error.
    """
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(function, *arguments, **named)
        error = future.exception()
    if error is not None:
        raise Failed(f"{type(error).__name__}: {error}") from error
    return future.result()
