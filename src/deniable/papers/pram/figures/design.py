"""Figures of channels designed by optimization: what they gain, and what they look like."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from deniable.display import INK, gridded, heading, in_style, legend_below, mark_key, panels

COMPETITORS: Mapping[str, tuple[str, str, str]] = {
    # colour (safe for colour-blind readers), marker, label
    "generalized_rr": ("#1b1f24", "o", "generalized randomized response"),
    "two_step": ("#0072b2", "s", "two-step invariant"),
}
FAINTEST = 1e-4
"""Probabilities below this share the palest ink; zeros stay white."""


@in_style
def design(table: pd.DataFrame) -> Figure:
    """Draw the loss of designed channels as a share of that of closed forms at equal epsilon.

    Parameters
    ----------
    table : DataFrame
        Columns attribute, categories, epsilon, loss, requirements, designed, generalized_rr,
        two_step, lower_bound, data_source.
    """
    kinds = list(dict.fromkeys(zip(table["loss"], table["requirements"], strict=True)))
    attributes = list(dict.fromkeys(table["attribute"]))
    epsilons = sorted(table["epsilon"].unique())
    columns = min(3, len(kinds))
    rows = -(-len(kinds) // columns)
    size = (3.2 * columns + 1.0, (0.27 * len(attributes) + 0.75) * rows + 2.0)
    figure, axes = panels(
        rows, columns, size, (1.15, 0.15, 0.95, 0.95), (0.06, 0.32), sharex=True, sharey=True
    )
    colours = mpl.colormaps["viridis"](np.linspace(0.85, 0.1, len(epsilons)))
    for axis, (loss, requirements) in zip(axes.flat, kinds, strict=False):
        part = table[(table["loss"] == loss) & (table["requirements"] == requirements)]
        _shares(axis, part, attributes, dict(zip(epsilons, colours, strict=True)))
        axis.set_title(f"{loss}: {requirements}", fontsize=8.5)
    for axis in axes.flat[len(kinds) :]:
        axis.set_visible(False)
    axes[0, 0].set_yticks(range(len(attributes)), attributes)
    axes[0, 0].set_ylim(len(attributes) - 0.5, -0.5)
    keys = [
        mark_key(colour, "D", f"ε = {e:g}") for e, colour in zip(epsilons, colours, strict=True)
    ]
    for _, marker, label in COMPETITORS.values():
        keys.append(mark_key(INK, marker, f"over {label}", fillstyle="none"))
    legend_below(figure, [*keys, mark_key(INK, "|", "lower bound")], 4)
    heading(
        figure,
        "What designed channels save: loss as a share of a closed form's",
        "at equal exact epsilon, true frequencies of Adult; the further left, the better",
    )
    return figure


def _shares(
    axis: Axes, part: pd.DataFrame, attributes: list[str], colours: Mapping[float, object]
) -> None:
    for column, (_, marker, _) in COMPETITORS.items():
        shares = part["designed"] / part[column]
        for attribute, epsilon, share in zip(
            part["attribute"], part["epsilon"], shares, strict=True
        ):
            if np.isfinite(share):
                place, colour = attributes.index(attribute), colours[epsilon]
                hollow: Any = {"markersize": 5, "fillstyle": "none", "markeredgewidth": 1.3}
                axis.plot(share, place, marker, color=colour, **hollow)
    bounds = part["lower_bound"] / part["generalized_rr"]
    for attribute, epsilon, share in zip(part["attribute"], part["epsilon"], bounds, strict=True):
        if np.isfinite(share):
            axis.plot(share, attributes.index(attribute), "|", color=colours[epsilon], markersize=9)
    axis.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    gridded(axis, linewidth=0.5)
    axis.set_xlim(0, 1.06)
    axis.tick_params(labelbottom=True)  # panels below may be missing
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))


@in_style
def channels(table: pd.DataFrame) -> Figure:
    """Draw designed matrices with their categories, a heat map each.

    Parameters
    ----------
    table : DataFrame
        Columns design, true, reported, probability, data_source.
    """
    names = list(dict.fromkeys(table["design"]))
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    size = (5.6 * columns + 0.6, 5.2 * rows + 1.0)
    figure, axes = panels(rows, columns, size, (1.35, 0.75, 0.95, 1.25), (0.42, 0.45))
    image = None
    for axis, name in zip(axes.flat, names, strict=False):
        image = _heat_map(axis, table[table["design"] == name])
        axis.set_title(name, fontsize=9.5)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    heading(
        figure,
        "Designed channels: how likely each report is, given the truth",
        "logarithmic ink; white: never reported; figures in percent",
    )
    if image is not None:
        width = figure.get_figwidth()
        bar = figure.add_axes((1 - 0.55 / width, 0.3, 0.12 / width, 0.4))
        figure.colorbar(image, cax=bar)
    return figure


def _heat_map(axis: Axes, part: pd.DataFrame) -> mpl.image.AxesImage:
    categories = list(dict.fromkeys(part["true"]))
    matrix = part.pivot_table(index="true", columns="reported", values="probability", sort=False)
    values = matrix.loc[categories, categories].to_numpy()
    shown = np.where(values > 0, np.maximum(values, FAINTEST), np.nan)
    image = axis.imshow(shown, cmap="Blues", norm=LogNorm(FAINTEST, 1))
    size = 8 if len(categories) <= 8 else 5
    for (u, v), value in np.ndenumerate(values):
        if value >= (0.0 if len(categories) <= 8 else 0.01) and value > 0:
            text = f"{100 * value:.0f}" if value >= 0.095 else f"{100 * value:.1g}"
            ink = "white" if value > 0.03 else INK
            axis.text(v, u, text, ha="center", va="center", fontsize=size, color=ink)
    axis.set_xticks(range(len(categories)), categories, rotation=60, ha="right", fontsize=7)
    axis.set_yticks(range(len(categories)), categories, fontsize=7)
    axis.set_xlabel("reported")
    axis.set_ylabel("true")
    for spine in axis.spines.values():
        spine.set_visible(False)
    return image
