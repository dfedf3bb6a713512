"""Around a job that dumps: starting one, and the demonstration program."""
