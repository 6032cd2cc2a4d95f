"""Reproduce the tables and figures of four papers; the workflow's scripts import this package.

It is part of the repository but not of the wheel. The first rule file puts its folder on
``sys.path``, and Snakemake passes that path on to scripts.
"""
