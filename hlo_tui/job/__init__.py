"""Around a person's own job: what makes it dump, running it, and what it can call from inside."""
