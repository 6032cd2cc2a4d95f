"""Domingo-Ferrer & Soria-Comas, Multi-Dimensional Randomized Response: studies, claims, figures."""
