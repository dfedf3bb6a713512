"""Where the memory of a compiled module goes: XLA's own reports read, and what none says estimated."""
