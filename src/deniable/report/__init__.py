"""The report: what it is made of, its pages, its own sections."""
