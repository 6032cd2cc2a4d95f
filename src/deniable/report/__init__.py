"""The page: gathers, renders, releases."""
