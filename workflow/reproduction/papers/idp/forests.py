"""F-measures of forests trained on masked records: Figures 5 and 6 of [idp].

The whole file is masked. Then the first 66 % of its records train a random forest of `TREES` trees
(scikit-learn's, otherwise with its defaults), and the other original records test it. The class is
not masked. Besides the methods of the text there are:

- ``original``: the same forest on original records, the upper bound of the text;
- ``majority``: always the most frequent class of the training records;
- ``dp_synthetic``: the same forest on synthetic records with central ε-DP;
- ``dp_naive_bayes``: naive Bayes on the noisy histogram of a single attribute, central ε-DP;
- ``dp_rule``: a threshold of one attribute, both drawn by the exponential mechanism, central ε-DP.

The last three use only the training records, which is stricter than the text.

If clipping leaves equal training records for two domain factors, one forest is used for both,
because they share its seed (and the noise of ``idp_cbls``). Methods without clusters are not
repeated for each k: their k is 0, as is an ε or a domain factor that does not apply.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import sklearn  # type: ignore[import-untyped]
from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped]
from sklearn.metrics import f1_score  # type: ignore[import-untyped]

from deniable import idp
from deniable.arrays import Codes, Floats
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise

from reproduction.study import Cell, Simulated, Simulator

TREES = 25
"""The text has no number. scikit-learn's default, 100, takes four times as long."""


@dataclass(frozen=True, eq=False)
class IdpForests(Simulator):
    """Simulator of F-measures of classifiers trained on protected `data` with two classes.

    Domains end at `domain_factors` times the largest values. ``dp_naive_bayes`` uses an `attribute`
    chosen by its meaning, not by the data: FICA (a tax on earnings) for Census, alcohol for Wine.
    """

    data: NumericMicrodata
    domain_factors: tuple[float, ...]
    attribute: str

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        factors = (0,) if cell["method"] in ("original", "majority") else self.domain_factors
        columns = np.transpose([self._run(cell, generator) for _ in range(replicates)])
        every = zip(product(factors, self.data.classes), columns, strict=True)
        for (factor, name), values in every:
            yield {"domain_factor": float(factor), "class": name}, values

    def _run(self, cell: Cell, generator: np.random.Generator) -> Floats:
        method, epsilon, (known, test) = cell["method"], float(cell["epsilon"]), self._split
        if method == "majority":
            return self._measured(np.full_like(test.labels, np.bincount(known.labels).argmax()))
        if method == "original":
            return self._forest(known.values, int(generator.integers(2**31)))
        words, found = generator.integers(2**63, size=2).tolist(), []
        trained: Floats | None = None  # the records of the last forest, with its `measures`
        for factor in self.domain_factors:
            generator = np.random.default_rng(words)
            seed = int(generator.integers(2**31))
            upper = idp.domain_bounds(self.data.values, factor)
            if method == "dp_rule":
                rule = idp.threshold_rule(known.values, known.labels, upper, epsilon, generator)
                found.append(self._measured(rule.predict(test.values)))
                continue
            if method == "dp_naive_bayes":
                column = [self.data.position(self.attribute)]
                tables = self._histograms(column, upper, epsilon, generator)
                found.append(self._measured(idp.naive_bayes(tables, test.values[:, column])))
                continue
            if method == "dp_synthetic":
                tables = self._histograms(slice(None), upper, epsilon, generator)
                training = tables.synthesize(known.labels, generator)
            else:
                masked = idp.masking(method, self._ranking, int(cell["k"]), upper, epsilon)
                training = masked.mask(SeededNoise(generator))[0][: len(known)]
            if trained is None or not np.array_equal(trained, training):
                trained, measures = training, self._forest(training, seed)
            found.append(measures)
        return np.concatenate(found)

    def _histograms(
        self, columns: Any, upper: Floats, epsilon: float, generator: np.random.Generator
    ) -> idp.NoisyHistograms:
        (training, _), bins = self._split, idp.bins_of_domain(upper, self.data.values)
        records = training.values[:, columns], training.labels, len(self.data.classes)
        noise = SeededNoise(generator)
        return idp.noisy_histograms(
            *records, upper[columns], bins=bins, epsilon=epsilon, noise=noise
        )

    def _forest(self, training: Floats, seed: int) -> Floats:
        known, test = self._split
        forest = RandomForestClassifier(TREES, random_state=seed)
        with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
            return self._measured(forest.fit(training, known.labels).predict(test.values))

    def _measured(self, predicted: Codes) -> Floats:
        true, codes = self._split[1].labels, range(len(self.data.classes))
        return np.asarray(f1_score(true, predicted, labels=codes, average=None, zero_division=0))

    @cached_property
    def _split(self) -> tuple[NumericMicrodata, NumericMicrodata]:
        return self.data.training_split()

    @cached_property
    def _ranking(self) -> idp.Ranking:
        return idp.Ranking.of(self.data.values)
