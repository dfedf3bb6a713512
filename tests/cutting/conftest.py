"""The engine of the replay's tests, for parts that were cut out."""

from tests.replay.conftest import backend, cache, debug

__all__ = ["backend", "cache", "debug"]
