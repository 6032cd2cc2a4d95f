"""The releases of the tests' config, and the files by which Snakemake knows them."""

from deniable.release import RECEIPT

TEST_RELEASES = ("explored", "tried", "blurred", "masked", "asked")
REAL = ("real", "counted", "answered", "sought")  # plans of columns, numbers, tables, columns
RECEIPTS = tuple(f"results/releases/{name}/{RECEIPT}" for name in REAL)
