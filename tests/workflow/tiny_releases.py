"""The releases of the tests' config, and what Snakemake knows of them."""

from deniable.release import RECEIPT

REHEARSALS = ("tried", "blurred", "masked", "asked")
REAL = ("real", "counted", "answered", "sought")  # a lane each
RECEIPTS = tuple(f"results/releases/{name}/{RECEIPT}" for name in REAL)
