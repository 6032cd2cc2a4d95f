"""Imran & Meo (2024), randomized response block aggregation: studies, claims, figures."""
