"""What happened to a module between its stages."""
