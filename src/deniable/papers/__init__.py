"""The studies behind the papers' tables and figures, one a file, over `deniable.study.engine`."""
