"""Config, checks, plan, provenance, environment: what the Snakefile needs."""
