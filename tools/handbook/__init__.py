"""The documentation as a site: what it is made of, its API reference, its links."""
