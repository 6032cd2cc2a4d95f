"""Randomized response block aggregation: views, clients, aggregator, server."""
