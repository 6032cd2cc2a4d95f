"""Figures of [multirr]."""
