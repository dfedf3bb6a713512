"""A full-screen terminal debugger for XLA programs."""

__version__ = "0.1.0"
