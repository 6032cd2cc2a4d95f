"""What the command line answers about a channel, as plain mappings with stable keys."""

from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import NamedChannel, Target
from deniable.privacy import (
    Factors,
    extreme_factors,
    largest_parity,
    largest_posterior,
    smallest_posterior,
    witness,
    worst_upward,
)

Answers = dict[str, Any]

CONVENTION = "row-stochastic: row u, column v is Pr(report v | true u)"
PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5)
INVARIANCE_TOLERANCE = 1e-9
ESTIMATE_KEYS = (
    "records",
    "target",
    "confidence",
    "estimate",
    "standard_error",
    "covariance",
    "interval_low",
    "interval_high",
    "maximum_likelihood",
)


def privacy(named: NamedChannel) -> Answers:
    """Return what holds whatever the prior: epsilon, parity, beta, bounds of posteriors."""
    channel = named.channel
    parity = channel.parity
    return {
        "convention": CONVENTION,
        "categories": list(named.categories),
        "epsilon": channel.epsilon,
        "parity": parity,
        "beta": parity,  # [pram], Theorem 3.2: the parity is the smallest factor that is guaranteed
        "breach_bounds": [
            {
                "prior": prior,
                "smallest_posterior": float(smallest_posterior(prior, parity)),
                "largest_posterior": float(largest_posterior(prior, parity)),
            }
            for prior in PRIORS
        ],
        "condition_number": float(np.linalg.cond(channel.entries)),
        "singular": channel.singular,
    }


def breach_answer(named: NamedChannel, prior: Floats | None, rho_1: float, rho_2: float) -> Answers:
    """Return whether an upward rho_1-to-rho_2 breach is possible, with one that is."""
    channel, categories = named.channel, named.categories
    found = witness(channel, rho_1, rho_2)
    answer: Answers = {
        "rho_1": rho_1,
        "rho_2": rho_2,
        "largest_parity": largest_parity(rho_1, rho_2),
        "guaranteed": found is None,
        "witness": None,
        "worst_under_prior": None,
    }
    if found:
        answer["witness"] = {
            "prior": [float(p) for p in found.prior],
            "members": [categories[u] for u in found.members],
            "report": categories[found.report],
            "prior_probability": float(found.prior_probability),
            "posterior": float(found.posterior),
        }
    worst = worst_upward(channel, prior, rho_1) if prior is not None else None
    if worst:
        answer["worst_under_prior"] = {
            "members": [categories[u] for u in worst.members],
            "report": categories[worst.report],
            "prior_probability": worst.prior_probability,
            "posterior": worst.posterior,
            "bound": worst.bound,
            "exact": worst.exact,
        }
    return answer


def under_prior(named: NamedChannel, prior: Floats) -> Answers:
    """Return what reports tell under a prior, and whether the channel leaves it as it is."""
    channel = named.channel
    reported = channel.reported(prior)
    change = float(np.abs(reported - prior).max())
    found = extreme_factors(channel, prior)
    return {
        "prior": prior,
        "reported": reported,
        "invariant": change <= INVARIANCE_TOLERANCE,
        "largest_change": change,
        "posterior": channel.posterior(prior),
        "largest_factor": _factor(named, found, "largest"),
        "smallest_factor": _factor(named, found, "smallest"),
    }


def _factor(named: NamedChannel, found: Factors, side: str) -> Answers:
    members, report = getattr(found, f"{side}_members"), getattr(found, f"{side}_report")
    return {
        "ratio": getattr(found, side),
        "category": named.categories[members[0]],
        "report": named.categories[report],
    }


def estimate(named: NamedChannel, counts: Counts, target: Target, confidence: float) -> Answers:
    """Return the unbiased estimate with its errors, and the maximum-likelihood distribution.

    Raises
    ------
    SingularChannelError
        If the channel cannot be inverted.
    ChannelError
        If the population is asked for and there is only one report.
    """
    from deniable.estimation import confidence_intervals  # noqa: PLC0415

    channel = named.channel
    intervals = confidence_intervals(channel, counts, confidence=confidence, target=target)
    return {
        "records": int(counts.sum()),
        "target": target,
        "confidence": confidence,
        "estimate": intervals.estimate,
        "standard_error": intervals.standard_error,
        "covariance": channel.estimated_covariance(counts, target),
        "interval_low": intervals.low,
        "interval_high": intervals.high,
        "maximum_likelihood": _most_likely(named, counts, intervals.estimate),
    }


def _most_likely(named: NamedChannel, counts: Counts, unbiased: Floats) -> Floats:
    # An unbiased estimate that is a distribution fits the reports exactly: none is likelier.
    if unbiased.min() >= 0:
        return unbiased
    from deniable.estimation import maximum_likelihood  # noqa: PLC0415

    return maximum_likelihood(counts, named.channel).proportions
