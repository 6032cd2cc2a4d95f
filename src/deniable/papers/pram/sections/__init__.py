"""Sections of the report on [pram]."""
