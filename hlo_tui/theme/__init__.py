"""Theme files: how each part of the screen looks. Nothing here knows what paints it."""
