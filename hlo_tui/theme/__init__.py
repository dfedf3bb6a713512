"""Theme files, read into styles that know nothing of Textual."""
