"""Finding lines and instructions in all modules and stages of a dump."""
