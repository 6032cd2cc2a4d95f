"""Cells, streams, summaries, verdicts, claims; what a catalog entry is."""
