"""Running a module: inputs, lowering, slices, the worker process and the debug session."""
