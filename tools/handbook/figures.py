"""Write the figures of the guides."""

from pathlib import Path

from deniable.files import written_whole
from handbook import posterior, tradeoff

FIGURES = {"posterior.png": posterior.picture, "tradeoff.png": tradeoff.picture}


def save(folder: Path) -> None:
    """Write all figures to a `folder`, with the same bytes each time."""
    for name, picture in FIGURES.items():
        with written_whole(folder / name) as temporary:
            picture().savefig(temporary, format="png", dpi=160, metadata={"Software": None})
