"""Records as text, JSON and frames for people to read."""
