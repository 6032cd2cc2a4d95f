"""``python -m deniable``: the command line."""

import sys

from deniable.cli import main

if __name__ == "__main__":
    sys.exit(main())
