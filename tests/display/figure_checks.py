"""What the tests of figures share: where texts lie, what is cut off, the bytes that are saved."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from deniable.display.style import STYLE, save

from reproduction.papers.catalog import FIGURES
from reproduction.study.catalog import resolve

Tables = list[pd.DataFrame]
BANNER = "SURROGATE DATA: not the published file"
EDGE = 0.001  # of a canvas: what rounding to pixels may take


def marked(tables: Tables, **columns: Any) -> Tables:
    return [table.assign(**columns) for table in tables]


def draw(name: str, tables: Tables) -> Figure:
    """Draw a figure of the catalog from its tables."""
    entry = FIGURES[name]
    figure: Figure = resolve(entry.draw)(*tables, **entry.options)
    return figure


def saved(figure: Figure, folder: Path, name: str = "f") -> tuple[bytes, bytes]:
    save(figure, folder / f"{name}.svg", folder / f"{name}.png")
    return (folder / f"{name}.svg").read_bytes(), (folder / f"{name}.png").read_bytes()


def extents(figure: Figure) -> dict[str, Bbox]:
    """Return where all texts of a figure lie, as shares of it; ticks with their axes' labels."""
    with mpl.rc_context(STYLE):
        figure.dpi = 160  # as it is saved
        figure.draw_without_rendering()
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        texts = [*figure.texts, figure._suptitle, figure._supxlabel]  # type: ignore[attr-defined]
        for legend in figure.legends:
            texts += legend.get_texts()
        found = {}
        for number, axes in enumerate(figure.axes):
            texts += [axes.title, *axes.texts]
            for axis in (axes.xaxis, axes.yaxis):
                if box := axis.get_tightbbox(renderer):  # of what is drawn, unlike all ticks
                    found[f"panel {number}, {axis.axis_name}"] = box
        for text in texts:
            if text is not None and text.get_text().strip():
                patch = text.get_bbox_patch()
                found[text.get_text()] = (patch or text).get_window_extent(renderer)
        return {text: box.transformed(figure.transFigure.inverted()) for text, box in found.items()}


def cut_off(found: dict[str, Bbox]) -> list[str]:
    """Return the texts that leave the canvas."""
    inside = Bbox([[-EDGE, -EDGE], [1 + EDGE, 1 + EDGE]])
    return [
        text
        for text, box in found.items()
        if not all(inside.contains(*corner) for corner in box.corners())
    ]
