"""A small training job with tagged operations: what `hlo-tui demo` runs and dumps.

The recurrence inside the scan multiplies its state by slightly more than it should: watch `max` grow.
"""

import sys
import time

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata


def layer(state: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array]:
    """One layer: the tagged value is what the debugger stops at."""
    mixed = jnp.tanh(state @ weight)
    state = set_xla_metadata(state * 1.1 + mixed, breakpoint=True)
    return state, jnp.max(jnp.abs(state))


def loss(weights: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The mean square of the last layer's state; its logarithm is logged, not stopped at."""
    state, peaks = jax.lax.scan(layer, x, weights)
    value = jnp.mean(state**2)
    logged = set_xla_metadata(jnp.log(value), _xla_log=True)
    return value + 0.0 * logged, peaks


@jax.jit
def train_step(weights: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """One step of gradient descent."""
    (value, peaks), gradient = jax.value_and_grad(loss, has_aux=True)(weights, x)
    value = set_xla_metadata(value * 1.0, breakpoint=True)
    return weights - 0.01 * gradient, value, peaks


def main(steps: int, pause: float) -> None:
    """Train for a number of steps, with a pause in seconds after each."""
    key = jax.random.key(0)
    weights = jax.random.normal(key, (6, 16, 16)) * 0.3
    x = jax.random.normal(jax.random.fold_in(key, 1), (4, 16))
    for step in range(steps):
        weights, value, peaks = train_step(weights, x)
        print(f"step {step}: loss {float(value):.4f}, largest state {float(peaks[-1]):.3f}", file=sys.stderr)
        time.sleep(pause)


if __name__ == "__main__":
    main(steps=int(sys.argv[1]), pause=float(sys.argv[2]))
