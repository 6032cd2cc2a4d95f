"""What masked records are good for: Figures 3 to 6 of [idp], with honest competitors.

**Mean SSE against k** (Figures 3 and 4). Beside the four methods of the text:

- ``dp_median``: every record gets the median of its class, drawn with true epsilon-differential
  privacy (`deniable.idp.true_dp`);
- ``dp_synthetic``: every record gets values drawn from noisy histograms of its class;
- ``no_data``: 0 for every value, which nobody's data have gone into: epsilon is 0;
- ``least_dp``: not a release but a bound. No release of the attributes one by one, with
  epsilon-differential privacy for a record, has a smaller expected mean SSE (`least_dp_sse`). What
  is below it has no such epsilon.

**F-measures of forests trained on masked records** (Figures 5 and 6). The whole file is masked,
then the first 66 % of its records train a random forest (scikit-learn's, with its defaults: 100
trees) and the others, unmasked, test it. The class stays as it is. Beside the methods of the text:

- ``original``: the same forest on unmasked records, the upper bound of the text;
- ``majority``: always the class that is most frequent among the training records;
- ``dp_synthetic``: the same forest on synthetic records with true epsilon-differential privacy;
- ``dp_naive_bayes``: naive Bayes on the noisy histogram of a single attribute, true epsilon-DP;
- ``dp_rule``: a threshold of one attribute, both drawn by the exponential mechanism, true
  epsilon-DP.

The last three see the training records alone, which is stricter than what the text does.

Two exact savings. The domain factors of a run share the forest's seed and, for ``idp_cbls``, whose
scales do not depend on the domain, the noise: where clipping leaves the training records the same,
one forest serves both. And what has no clusters is not repeated for each k: its k is 0, as is an
epsilon or a domain factor that does not apply.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import sklearn  # type: ignore[import-untyped]
from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped]

from deniable.arrays import Codes, Floats
from deniable.errors import DeniableError
from deniable.idp import (
    METHODS,
    Masking,
    Method,
    NaiveBayes,
    NoisyHistograms,
    Ranking,
    class_medians,
    domain_bounds,
    f_measures,
    majority_f_measures,
    masking,
    masking_sse,
    mean_sse,
    noisy_histograms,
    sample_variances,
    threshold_rule,
)
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise

SSE_COMPETITORS = ("dp_median", "dp_synthetic", "no_data", "least_dp")
REFERENCES = ("original", "majority")
FOREST_COMPETITORS = ("dp_synthetic", "dp_naive_bayes", "dp_rule")
BINS_TO_MAXIMUM = 16
"""Bins of a histogram from 0 to the largest value; the domain, wider by a factor, has more."""
DRAWS_AT_ONCE = 1 << 20  # 8 MB of noise


@dataclass(frozen=True, eq=False)
class IdpSse:
    """Simulates the mean SSE of methods, over all k at once.

    Parameters
    ----------
    data : NumericMicrodata
        With classes.
    k : tuple of int
        Least sizes of clusters. Methods without clusters have the same SSE at each, of the same
        draws.
    """

    data: NumericMicrodata
    k: tuple[int, ...]

    def outputs(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what names each output of a run: k."""
        return [{"k": k} for k in self.k]

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the mean SSE of each run, shape (replicates, number of k).

        A cell has a method, an epsilon and a domain_factor.
        """
        method, epsilon = str(cell["method"]), float(cell["epsilon"])
        upper = domain_bounds(self.data.values, float(cell["domain_factor"]))
        if method in SSE_COMPETITORS:
            simulated = self._competitor(method, upper, epsilon, generator, replicates)
            return np.repeat(simulated[:, None], len(self.k), axis=1)
        sizes = self.k[:1] if method == "dp" else self.k
        columns = [
            self._runs(self.masking(method, k, upper, epsilon), generator, replicates)
            for k in sizes
        ]
        return np.asarray(np.broadcast_to(np.stack(columns, axis=1), (replicates, len(self.k))))

    def masking(self, method: str, k: int, upper: Floats, epsilon: float) -> Masking:
        """Return how records are masked; the ranking is shared."""
        if method not in METHODS:
            raise DeniableError(
                f"unknown method {method!r}; use {', '.join((*METHODS, *SSE_COMPETITORS))}"
            )
        return masking(method, self.ranking, k, upper, epsilon)

    @cached_property
    def ranking(self) -> Ranking:
        """The ranking of the records."""
        return Ranking.of(self.data.values)

    @cached_property
    def variances(self) -> Floats:
        """Sample variances of the attributes."""
        return sample_variances(self.data.values)

    def _runs(self, found: Masking, generator: np.random.Generator, replicates: int) -> Floats:
        noise, at_once = SeededNoise(generator), max(DRAWS_AT_ONCE // found.centres.size, 1)
        parts = (min(at_once, replicates - start) for start in range(0, replicates, at_once))
        drawn = (found.noisy_centroids(noise, runs) for runs in parts)
        return np.concatenate([masking_sse(found, each, self.variances) for each in drawn])

    def _competitor(
        self,
        method: str,
        upper: Floats,
        epsilon: float,
        generator: np.random.Generator,
        replicates: int,
    ) -> Floats:
        if method == "dp_median":
            return self._medians(upper, epsilon, generator, replicates)
        if method == "dp_synthetic":
            return self._synthetic(upper, epsilon, generator, replicates)
        values = self.data.values
        found = (
            mean_sse(values, np.zeros_like(values))
            if method == "no_data"
            else least_dp_sse(self.data, epsilon)
        )
        return np.full(replicates, float(found))

    def _medians(
        self, upper: Floats, epsilon: float, generator: np.random.Generator, replicates: int
    ) -> Floats:
        data = self.data
        medians = class_medians(
            data.values, data.labels, len(data.classes), upper, epsilon, generator, replicates
        )
        # As for clusters: records of a class differ from its value v by scatter + n (mean - v)^2.
        squares = np.zeros((replicates, len(upper)))
        for code in range(len(data.classes)):
            part = data.values[data.labels == code]
            squares += len(part) * (
                part.var(axis=0) + (medians[:, :, code] - part.mean(axis=0)) ** 2
            )
        return np.asarray((squares / self.variances).mean(axis=1) / len(data))

    def _synthetic(
        self, upper: Floats, epsilon: float, generator: np.random.Generator, replicates: int
    ) -> Floats:
        data, noise = self.data, SeededNoise(generator)
        bins = bins_of_domain(upper, data.values)
        found = np.empty(replicates)
        for run in range(replicates):
            records = data.values, data.labels, len(data.classes), upper
            tables = noisy_histograms(*records, bins=bins, epsilon=epsilon, noise=noise)
            found[run] = mean_sse(data.values, tables.synthesize(data.labels, generator))
        return found


def least_dp_sse(data: NumericMicrodata, epsilon: float) -> float:
    """Return the least mean SSE of a release with true epsilon-DP, attribute by attribute.

    *Proof.* Deal out an attribute's values among the records of each (public) class at random. To
    exchange the values of two records takes two changes of a record, so what is released is at most
    exp(2 epsilon_j) times as likely under one dealing as under the other. Given the release, each
    value of a record so keeps at least exp(-2 epsilon_j) times the probability that it had before,
    and so does its squared distance from any guess, whose expectation was at least the variance
    within the class. A method that does not look at the records' order or at other attributes, as
    all here, has the same expected SSE for every dealing. Releases that are drawn independently
    spend epsilon = sum of epsilon_j together; the bound takes the split that suits it best, with
    V_j the variance within classes in units of s_j^2:

        the least of mean over j of V_j exp(-2 epsilon_j).
    """
    within = sum(
        int(np.sum(data.labels == code)) * data.values[data.labels == code].var(axis=0)
        for code in np.unique(data.labels)
    )
    variances = np.sort(np.asarray(within) / len(data) / sample_variances(data.values))[::-1]
    # The budget brings the largest of the terms down to one level and leaves the others.
    logs = np.log(variances)
    levels = (np.cumsum(logs) - 2 * epsilon) / np.arange(1, logs.size + 1)
    lowered = int(np.sum(logs > levels))
    left = np.concatenate([np.full(lowered, levels[lowered - 1]), logs[lowered:]])
    return float(np.exp(left).mean())


def bins_of_domain(upper: Floats, values: Floats) -> int:
    """Return how many bins cut [0, U_j], so that `BINS_TO_MAXIMUM` of them reach the maximum."""
    factor = float(np.max(upper / values.max(axis=0)))
    return math.ceil(round(BINS_TO_MAXIMUM * factor, 6))


@dataclass(frozen=True, eq=False)
class IdpForests:
    """Simulates the F-measures of classifiers trained on protected records.

    Parameters
    ----------
    data : NumericMicrodata
        With two classes; its first 66 % train.
    domain_factors : tuple of float
    attribute : str
        What ``dp_naive_bayes`` looks at, chosen by its meaning and not by the data: FICA, a tax on
        earnings, of Census; alcohol of Wine.
    """

    data: NumericMicrodata
    domain_factors: tuple[float, ...]
    attribute: str

    def outputs(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what names each output of a run: domain_factor, class."""
        factors = (0,) if cell["method"] in REFERENCES else self.domain_factors
        return [
            {"domain_factor": float(factor), "class": name}
            for factor in factors
            for name in self.data.classes
        ]

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the F-measures of each run, shape (replicates, outputs).

        A cell has a method, an epsilon and a k; the latter two are 0 where they do not apply.
        """
        method = str(cell["method"])
        if method in REFERENCES:
            return np.stack([self._reference(method, generator) for _ in range(replicates)])
        if method not in (*METHODS, *FOREST_COMPETITORS):
            known = (*REFERENCES, *METHODS, *FOREST_COMPETITORS)
            raise DeniableError(f"unknown method {method!r}; use {', '.join(known)}")
        runs = []
        for _ in range(replicates):
            words = generator.integers(2**63, size=2).tolist()
            runs.append(self._run(method, float(cell["epsilon"]), int(cell["k"]), words))
        return np.stack(runs)

    def _reference(self, method: str, generator: np.random.Generator) -> Floats:
        training, test = self._parts
        if method == "majority":
            return majority_f_measures(training.labels, test.labels, len(self.data.classes))
        return self._forest(training.values, int(generator.integers(2**31)))

    def _run(self, method: str, epsilon: float, k: int, words: list[int]) -> Floats:
        """Return the F-measures of one run, domain factor by domain factor."""
        found: list[Floats] = []
        forests: list[tuple[Floats, Floats]] = []  # training records, F-measures
        for factor in self.domain_factors:
            generator = np.random.default_rng(words)
            seed = int(generator.integers(2**31))
            upper = domain_bounds(self.data.values, factor)
            if method in ("dp_naive_bayes", "dp_rule"):
                predicted = self._classified(method, upper, epsilon, generator)
                found.append(self._measured(predicted))
                continue
            training = self._protected(method, k, upper, epsilon, generator)
            same = [known for records, known in forests if np.array_equal(records, training)]
            if not same:
                forests.append((training, self._forest(training, seed)))
            found.append(same[0] if same else forests[-1][1])
        return np.concatenate(found)

    def _protected(
        self, method: str, k: int, upper: Floats, epsilon: float, generator: np.random.Generator
    ) -> Floats:
        """Return the training records as they are released."""
        if method == "dp_synthetic":
            tables = self._histograms(slice(None), upper, epsilon, generator)
            return tables.synthesize(self._training.labels, generator)
        found = masking(cast(Method, method), self._ranking, k, upper, epsilon)
        return np.asarray(found.mask(SeededNoise(generator))[0][: len(self._training)])

    def _classified(
        self, method: str, upper: Floats, epsilon: float, generator: np.random.Generator
    ) -> Codes:
        """Return the classes that a classifier with true DP predicts."""
        training, test = self._parts
        if method == "dp_rule":
            rule = threshold_rule(training.values, training.labels, upper, epsilon, generator)
            return rule.predict(test.values)
        column = [self.data.position(self.attribute)]
        tables = self._histograms(column, upper, epsilon, generator)
        return NaiveBayes(tables).predict(test.values[:, column])

    def _histograms(
        self,
        columns: slice | list[int],
        upper: Floats,
        epsilon: float,
        generator: np.random.Generator,
    ) -> NoisyHistograms:
        """Return noisy histograms of some attributes of the training records, by class."""
        training, bins = self._training, bins_of_domain(upper, self.data.values)
        records = training.values[:, columns], training.labels, len(self.data.classes)
        noise = SeededNoise(generator)
        return noisy_histograms(*records, upper[columns], bins=bins, epsilon=epsilon, noise=noise)

    def _forest(self, training: Floats, seed: int) -> Floats:
        # What is left out are checks of parameters and values: the forest is the same.
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            forest = RandomForestClassifier(random_state=seed, n_jobs=1)
            forest.fit(training, self._training.labels)
            return self._measured(forest.predict(self._test.values))

    def _measured(self, predicted: Codes) -> Floats:
        return f_measures(self._test.labels, predicted, len(self.data.classes))

    @property
    def _training(self) -> NumericMicrodata:
        return self._parts[0]

    @property
    def _test(self) -> NumericMicrodata:
        return self._parts[1]

    @cached_property
    def _parts(self) -> tuple[NumericMicrodata, NumericMicrodata]:
        if len(self.data.classes) != 2:
            raise DeniableError(
                f"the records have {len(self.data.classes)} classes; these studies need two"
            )
        return self.data.training_split()

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking.of(self.data.values)
