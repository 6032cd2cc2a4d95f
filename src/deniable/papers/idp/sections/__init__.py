"""Sections of the report on [idp]."""
