"""Which operation JAX lowers from which equation, from JAX itself: each equation gets a scope of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

_CHILD = """
import json, re
import jax, jax.numpy as jnp
from jax import lax
from jax.extend import core

def norm(x, w):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w

def block(x, w):
    x = norm(x, w[0])
    y = jnp.tanh(x @ w) * 2.0 + x
    return x + jax.nn.silu(y) * y

def loss(x, w):
    for _ in range(3):
        x = block(x, w)
    p = jax.nn.log_softmax(x)
    return -(p * lax.stop_gradient(p)).mean() + (w * w).sum() * 0.1

def flat(x, w):
    value, (a, b) = jax.value_and_grad(loss, argnums=(0, 1))(x, w)
    return value, a * 2.0, b + w * 0.5

def scoped(jaxpr):
    def run(*arguments):
        values = dict(zip(jaxpr.jaxpr.invars, arguments)) | dict(zip(jaxpr.jaxpr.constvars, jaxpr.consts))
        read = lambda v: v.val if isinstance(v, core.Literal) else values[v]
        for number, equation in enumerate(jaxpr.jaxpr.eqns):
            with jax.named_scope(f"equation{number}"):
                out = equation.primitive.bind(*map(read, equation.invars), **equation.params)
            out = out if equation.primitive.multiple_results else [out]
            values.update(zip(equation.outvars, out))
        return [read(v) for v in jaxpr.jaxpr.outvars]
    return run

x, w = jnp.ones((4, 8)), jnp.ones((8, 8))
jaxpr = jax.make_jaxpr(flat)(x, w)
plain = jax.jit(flat).lower(x, w).as_text(debug_info=True)
named = jax.jit(scoped(jaxpr)).lower(x, w).as_text(debug_info=True)
print(json.dumps([str(jaxpr), plain, named]))
"""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A jaxpr, the StableHLO that JAX makes of it, and the same with the number of its equation in each name."""

    jaxpr: str
    plain: str
    named: str


def lower() -> Lowered:
    """Lower a small training step without functions in it."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        capture_output=True,
        text=True,
        check=True,
        env={"JAX_PLATFORMS": "cpu", "PATH": ""},
    )
    return Lowered(*json.loads(done.stdout.splitlines()[-1]))
