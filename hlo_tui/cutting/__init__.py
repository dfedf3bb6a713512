"""Cutting a part out of a module or a dump, and turning it into another form, to give it to somebody."""
