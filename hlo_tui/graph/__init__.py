"""A part of a module as a graph: which instructions, how they are laid out, and the pictures made of that."""
