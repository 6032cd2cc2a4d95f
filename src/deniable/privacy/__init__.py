"""Claimed against exact epsilon; breaches, amplification, linkage."""
