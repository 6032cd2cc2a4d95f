"""What true epsilon-differential privacy offers numeric records: synthetic ones, and a classifier.

The competitor of [idp]'s methods at the same budget. As there, the class of each record is
public; two files are neighbours if they differ in the attributes' values of one record, whatever
the change. Bounds [0, U_j] must be known without the data.

**Histograms.** Of each attribute the records of each class are counted in bins of equal width, and
every count gets discrete Laplace noise of scale 2 / epsilon_j. *Proof of epsilon:* a record that
changes takes 1 from one bin and gives 1 to another, so the l1 distance between the two tables of
an attribute is at most 2, and the probabilities of any noisy table differ by a factor of at most
exp(2 epsilon_j / 2). The m tables are drawn independently, so for all of them the factor is at
most exp(sum of epsilon_j) = exp(epsilon). No scale, bin or bound depends on the records: this holds
for all pairs of neighbours, in both directions. All that is made from the tables is post-processing
(Dwork and Roth, 2014, Propositions 2.1 and 3.16). The same holds if the class is protected too: a
record that changes its class also takes from one cell and gives to another.

**Medians and threshold rules** are drawn by the exponential mechanism: see
`deniable.idp.selection`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Floats
from deniable.errors import DeniableError
from deniable.estimation import euclidean_projection
from deniable.idp.methods import split_budget
from deniable.sampling import Noise

TABLE_DISTANCE = 2
"""How far apart in l1 the tables of an attribute are in two files that differ in one record."""


@dataclass(frozen=True, eq=False)
class NoisyHistograms:
    """Noisy counts of each attribute in each class.

    Attributes
    ----------
    counts : array of int, shape (attributes, classes, bins)
        As released: unbiased, some below 0.
    class_counts : array of int, shape (classes,)
        Public.
    upper : array, shape (attributes,)
        The bins cut [0, U_j] into equal parts.
    epsilon : float
        Of the release of all tables together.
    """

    counts: Counts
    class_counts: Counts
    upper: Floats
    epsilon: float

    @property
    def bins(self) -> int:
        """Number of bins of an attribute."""
        return int(self.counts.shape[2])

    def distributions(self) -> Floats:
        """Return the distribution over bins of each attribute in each class.

        That closest to the noisy shares (post-processing), shape (attributes, classes, bins).
        """
        records = np.maximum(self.class_counts, 1)[:, None]
        return euclidean_projection(self.counts / records)

    def synthesize(self, labels: Codes, generator: np.random.Generator) -> Floats:
        """Draw records, each attribute on its own from the distribution of the record's class.

        Within a bin values are uniform. Dependences between attributes are kept as far as the
        class carries them.

        Parameters
        ----------
        labels : array of class codes, shape (records,)

        Returns
        -------
        array, shape (records, attributes)
        """
        distributions = self.distributions()
        widths = self.upper / self.bins
        records = np.empty((len(labels), len(self.upper)))
        for code in np.unique(labels):
            members = np.flatnonzero(labels == code)
            steps = np.cumsum(distributions[:, code], axis=1)
            for attribute, cumulative in enumerate(steps):
                drawn = generator.random(members.size) * cumulative[-1]
                bins = np.searchsorted(cumulative, drawn, side="right")
                places = np.minimum(bins, self.bins - 1) + generator.random(members.size)
                records[members, attribute] = places * widths[attribute]
        return records


def noisy_histograms(
    values: npt.ArrayLike,
    labels: Codes,
    classes: int,
    upper: npt.ArrayLike,
    *,
    bins: int,
    epsilon: float,
    noise: Noise,
) -> NoisyHistograms:
    """Release histograms of each attribute in each class with epsilon-differential privacy.

    The proof is in the module's docstring.

    Parameters
    ----------
    values : array, shape (records, attributes)
        Values outside [0, U_j] count in the nearest bin.
    labels : array of class codes, shape (records,)
    classes : int
    upper : array, shape (attributes,), > 0
        Known without the data.
    bins : int, >= 1
    epsilon : float, > 0
        Split evenly between the attributes.
    noise : Noise
    """
    bounds = np.array(upper, dtype=float)
    counts = histograms(values, labels, classes, bounds, bins)
    share = split_budget(epsilon, len(bounds))[0]
    return NoisyHistograms(
        noise.add_whole(counts, TABLE_DISTANCE / share),
        np.bincount(labels, minlength=classes),
        bounds,
        epsilon,
    )


def histograms(
    values: npt.ArrayLike, labels: Codes, classes: int, upper: Floats, bins: int
) -> Counts:
    """Count the records of each class in bins of each attribute, without noise.

    Returns
    -------
    array of int, shape (attributes, classes, bins)
    """
    table = np.asarray(values, dtype=float)
    attributes = len(upper)
    if table.ndim != 2 or table.shape != (len(labels), attributes):
        raise DeniableError(
            f"values of shape {table.shape} do not fit {len(labels)} classes of records and "
            f"{attributes} bounds"
        )
    if bins < 1 or not np.all(upper > 0):
        raise DeniableError(f"{bins} bins of [0, U] need at least 1 bin and U above 0")
    codes = binned(table, upper, bins) + bins * np.asarray(labels, dtype=np.int64)[:, None]
    cells = classes * bins
    return np.stack(
        [np.bincount(column, minlength=cells).reshape(classes, bins) for column in codes.T]
    )


def binned(values: Floats, upper: Floats, bins: int) -> Counts:
    """Return the bin of each value; what is outside [0, U_j] goes to the nearest bin."""
    places = np.floor(np.clip(values / upper, 0.0, 1.0) * bins)
    return np.minimum(places, bins - 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """The classifier that takes attributes as independent within a class.

    Made from released histograms and public class counts alone: post-processing.

    Parameters
    ----------
    histograms : NoisyHistograms
    """

    histograms: NoisyHistograms

    def predict(self, values: npt.ArrayLike) -> Counts:
        """Return the most probable class of each record, shape (records,).

        Parameters
        ----------
        values : array, shape (records, attributes)
        """
        tables = self.histograms
        codes = binned(np.asarray(values, dtype=float), tables.upper, tables.bins)
        # What was never seen has the weight of half a record, as Jeffreys' prior gives it.
        records = tables.class_counts.astype(float)
        seen = tables.distributions() * records[:, None] + 0.5
        log_shares = np.log(seen / (records[:, None] + 0.5 * tables.bins))
        scores = np.log(records + 0.5) + sum(
            log_shares[attribute][:, column].T for attribute, column in enumerate(codes.T)
        )
        return np.asarray(np.argmax(scores, axis=1))
