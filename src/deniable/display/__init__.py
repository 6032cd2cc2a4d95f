"""Numbers as text, parts of pages, style of figures (below the papers)."""
