"""The command line: one file per command, and `main.py`, which knows them by name."""
