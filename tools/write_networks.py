"""Write the networks of [rrba] from the installed pgmpy to resources/networks.

Run it again when pgmpy brings other tables: the files that are drawn from the networks then change,
and `deniable.datasets.networks.FILES` has to record their new digests.
"""

import sys
from pathlib import Path

from deniable.datasets import NETWORKS, from_pgmpy, write

FOLDER = Path(__file__).resolve().parent.parent / "resources" / "networks"


def main() -> int:
    """Write a file a network."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        write(FOLDER / f"{name}.json", from_pgmpy(name))
        print(f"wrote {FOLDER / name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
