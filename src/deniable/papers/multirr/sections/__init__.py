"""Sections of the report on [multirr]."""
