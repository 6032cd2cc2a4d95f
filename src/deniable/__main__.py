"""``python -m deniable``: the command line."""

from deniable.cli import run

if __name__ == "__main__":
    run()
