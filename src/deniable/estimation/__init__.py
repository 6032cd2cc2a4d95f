"""From reports to distributions, intervals, survey weights, errors."""
