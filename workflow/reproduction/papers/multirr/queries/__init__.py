"""Simulators of count queries on clusters, pairs of attributes and adjusted records."""
