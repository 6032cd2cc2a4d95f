"""Figures of [idp]."""
