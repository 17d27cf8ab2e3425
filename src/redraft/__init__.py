"""Compile write-and-check prompts, answer with a capped loop, measure what each was worth."""
