"""Sections of the report on [rrba]."""
