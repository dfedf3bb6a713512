"""A dump directory: what its files are, which module they belong to, and what changes in it."""
