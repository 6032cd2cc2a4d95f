"""Attributes and domains; coded and numeric microdata; their files."""
