"""Regressions on the columns of a release."""

from itertools import product
from typing import Literal, Unpack, get_args

import numpy as np
import pandas as pd
import scipy

from deniable.analysis.answers import Options
from deniable.analysis.base import ReleaseSource
from deniable.channels import Target
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import student
from deniable.regression import Design, Fit, Model, groups_of, likelihood_fit, scores_fit

Method = Literal["scores", "likelihood"]


class RegressionEstimates(ReleaseSource):
    """Regressions with a randomized outcome and randomized covariates."""

    def regression(
        self,
        formula: str,
        *,
        model: Model | None = None,
        method: Method = "scores",
        **options: Unpack[Options],
    ) -> pd.DataFrame:
        """Return the coefficients of a regression: one row per term, for each outcome category.

        The `formula` and the `model` are as in `deniable.regression.Design.of`. The `method`
        "scores" (the default) needs no model of the covariates. "likelihood" has smaller errors
        with strong randomization, for logistic and multinomial models of the population. See
        `deniable.regression.scores_fit` and `deniable.regression.likelihood_fit`, also for the
        errors raised. The `**options` are as in `margins`.

        The columns are ``outcome`` (with its category), ``term``, ``estimate``,
        ``standard_error``, ``ci_low`` and ``ci_high`` by Student's t, ``statistic`` and ``p_value``
        of the test that the coefficient is 0, ``confidence``, ``target`` and ``records``.
        ``attrs["notes"]`` has the model, the method and the reference categories.
        """
        self._schema()
        known, wanted = self._estimator(**options)
        design = Design.of(formula, self._columns, model)
        refuse_unknown("method", method, get_args(Method))
        names = design.domain.names
        answers, weights = self.responses.answers(known.weight, names)
        groups = groups_of(answers, weights, names, wanted[0].inverse)
        parts = []
        for each in wanted:
            if method == "scores":
                fit = scores_fit(design, groups, each.target)
            elif each.target == "file":
                raise DeniableError("the method likelihood is for the target 'population' alone")
            else:
                fit = likelihood_fit(design, groups, weighted=weights is not None)
            parts.append(_rows(design, fit, each.target, each.confidence))
        answer = pd.concat(parts, ignore_index=True)
        compared = f", compared with {', '.join(design.references)}" if design.references else ""
        how = {"scores": "corrected scores", "likelihood": "maximum likelihood"}[method]
        answer.attrs["notes"] = [f"A {design.model} model by {how}{compared}."]
        return answer


def _rows(design: Design, fit: Fit, target: Target, confidence: float) -> pd.DataFrame:
    outcomes, terms = zip(*product(design.responses, design.terms), strict=True)
    estimate, errors = fit.coefficients.reshape(-1), np.sqrt(np.diag(fit.covariance))
    freedom = np.array(float(fit.records - estimate.size))
    reach = student(freedom, confidence) * errors
    statistic = estimate / errors
    return pd.DataFrame(
        {
            "outcome": outcomes,
            "term": terms,
            "estimate": estimate,
            "standard_error": errors,
            "ci_low": estimate - reach,
            "ci_high": estimate + reach,
            "statistic": statistic,
            "p_value": 2 * scipy.special.stdtr(freedom, -np.abs(statistic)),
            "confidence": confidence,
            "target": target,
            "records": fit.records,
        }
    )
