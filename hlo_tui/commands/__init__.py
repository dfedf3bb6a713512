"""What each command does: it reads, runs and prints; the exit code is what it returns."""
