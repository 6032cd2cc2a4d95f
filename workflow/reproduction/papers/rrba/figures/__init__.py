"""Figures of [rrba]."""
