"""Figures of [pram]."""
