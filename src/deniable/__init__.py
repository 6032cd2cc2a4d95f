"""Deniable: microdata released with provable deniability, and the privacy claimed, audited."""

__version__ = "0.1.0"
