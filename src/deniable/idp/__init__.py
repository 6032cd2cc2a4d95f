"""Individual differential privacy by microaggregation, and competitors with true DP."""
