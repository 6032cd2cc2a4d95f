"""The documentation as a site: its pages, its API reference and its links."""
