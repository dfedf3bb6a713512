"""Capturing one run of a jitted function: its module, its real inputs and its result (imports jax).

What XLA's own snapshot flags write, without a flag, and of functions that run on several devices too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.job.stages import assign, write_compiled, write_lowered
from hlo_tui.replay import arrays, xla

# A proto has to be smaller.
_LARGEST = 2**31 - 1


def capture(function: Callable[..., Any], /, *args: Any, dir: str | os.PathLike[str], **kwargs: Any) -> Path:
    """Run a function once and write what a replay needs: its module, the inputs as they are, and the result.

    The arguments are left as they are, donated ones too. Host callbacks are called, as in every run.

    Args:
        function: jitted, or to be jitted.
        args: what it is called with.
        dir: a directory; made where it is not there. What is in it stays.
        kwargs: what it is called with.

    Returns:
        The snapshot: open it, or its directory, with hlo-tui. Both stages of the module are beside it, and for
        a function that runs on several devices a second snapshot of what each of them has.

    Raises:
        HloTuiError: an input is not an array, lies on other machines, or all are too large for a proto.
        EngineError: this JAX is not known.
    """
    import jax

    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    lowered = jitted.lower(*args, **kwargs)
    compiled = lowered.compile()
    called = _without_static(jitted, args, kwargs)
    leaves, tree = jax.tree.flatten(called)
    information = jax.tree.leaves(lowered.args_info)
    if len(leaves) != len(information):
        raise _not_this(f"{len(leaves)} arguments where {len(information)} were lowered")
    inputs = [_Input(leaf, about) for leaf, about in zip(leaves, information, strict=True)]
    before, kept = xla.kept_arguments(lowered)
    everything = [*(_Input(one, None) for one in before), *inputs]
    used = [everything[index] for index in kept]
    _check_size(used)
    call_args, call_kwargs = jax.tree.unflatten(tree, [one.again() for one in inputs])
    results = [_host(leaf) for leaf in jax.tree.leaves(compiled(*call_args, **call_kwargs))]
    place = write_lowered(lowered, dir)
    write_compiled(compiled, dir, place)
    module, devices = xla.optimized(compiled)
    if len(devices) > 1:
        shardings = [None] * len(before) + jax.tree.leaves(
            compiled.input_shardings, is_leaf=lambda x: x is None
        )
        parts = [one.parts(shardings[index], devices) for index, one in zip(kept, used, strict=True)]
        place.write(".execution_0000.hlo_unoptimized_snapshot.pb", _of_devices(module, parts, len(devices)))
    return place.write(".snapshot.0.pb", _whole(xla.unoptimized(lowered), used, results, devices))


class _Input:
    """One argument: as the person gave it, and its values as they are before the run."""

    def __init__(self, given: Any, about: Any) -> None:
        """Take it, and what JAX says of it (None for what JAX adds itself). The values are copied at once."""
        self._given = given
        self._donated = about is not None and about.donated
        dtype = None if about is None or _is_key(given) else about.dtype
        self.host = _host(given, dtype)

    def again(self) -> Any:
        """It once more, for a run that may take its memory away."""
        import jax

        if not self._donated or not isinstance(self._given, jax.Array):
            return self._given
        return self._placed(self._given.sharding)

    def parts(self, sharding: Any, devices: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """The part that each device has."""
        if sharding is None:
            return [self.host] * len(devices)
        import jax

        placed = self._placed(sharding)
        whole = jax.random.key_data(placed) if _is_key(placed) else placed
        there = {shard.device: np.asarray(shard.data) for shard in whole.addressable_shards}
        return [there[device] for device in devices]

    def _placed(self, sharding: Any) -> Any:
        import jax

        if _is_key(self._given):
            key = jax.random.wrap_key_data(
                jax.numpy.asarray(self.host), impl=jax.random.key_impl(self._given)
            )
            return jax.device_put(key, sharding)
        return jax.device_put(self.host, sharding)


def _is_key(value: Any) -> bool:
    """Whether it is an array of random keys, which XLA knows as arrays of numbers."""
    import jax

    return isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def _host(value: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """The numbers of an array, here and now."""
    import jax

    if isinstance(value, jax.Array):
        if not value.is_fully_addressable:
            raise HloTuiError(
                "an array lies on other machines too",
                f"{value.shape} on {value.sharding}",
                "capture a function whose arrays are all in this process",
            )
        value = jax.random.key_data(value) if _is_key(value) else value
    return np.array(value, dtype=dtype)


def _without_static(
    jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that are no constants of the module."""
    numbers, names = xla.static_arguments(jitted)
    static = {number % len(args) for number in numbers if -len(args) <= number < len(args)}
    return (
        tuple(arg for number, arg in enumerate(args) if number not in static),
        {name: value for name, value in kwargs.items() if name not in names},
    )


def _not_this(why: str) -> HloTuiError:
    return HloTuiError(
        "this function cannot be captured", why, "bind its constants with functools.partial, and jit that"
    )


def _check_size(inputs: Sequence[_Input]) -> None:
    size = sum(one.host.nbytes for one in inputs)
    if size > _LARGEST:
        raise HloTuiError(
            "the inputs are too large for a snapshot", f"{size:,} bytes; a proto has less than 2 GiB"
        )


def _literal(value: Any) -> pb.LiteralProto:
    try:
        return arrays.value_to_literal(value)
    except ValueError as error:
        raise HloTuiError("a value cannot be written down", str(error)) from error


def _whole(module: bytes, inputs: Sequence[_Input], results: Sequence[Any], devices: Sequence[Any]) -> bytes:
    """A snapshot of the module before optimisation: whole arrays, however many devices had them."""
    snapshot = pb.HloSnapshot()
    snapshot.hlo.hlo_module.ParseFromString(module)
    snapshot.arguments.extend(_literal(one.host) for one in inputs)
    shape = snapshot.hlo.hlo_module.host_program_shape.result
    if shape.element_type != arrays.TUPLE and len(results) == 1:
        snapshot.result.CopyFrom(_literal(results[0]))
    elif len(shape.tuple_shapes) == len(results):
        snapshot.result.CopyFrom(_literal(tuple(results)))
    snapshot.execution_platform = devices[0].platform if devices else ""
    assign(snapshot.hlo.hlo_module, len(devices))
    return snapshot.SerializeToString()


def _of_devices(module: bytes, parts: Sequence[Sequence[Any]], devices: int) -> bytes:
    """The module after partitioning, with what each device has of the inputs."""
    snapshot = pb.HloUnoptimizedSnapshot()
    snapshot.hlo_module.ParseFromString(module)
    assign(snapshot.hlo_module, devices)
    for number in range(devices):
        snapshot.partitions.add(arguments=[_literal(part[number]) for part in parts])
    return snapshot.SerializeToString()
