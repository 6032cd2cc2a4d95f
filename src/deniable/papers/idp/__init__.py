"""Individual differential privacy by microaggregation: studies, audit, claims, figures."""
