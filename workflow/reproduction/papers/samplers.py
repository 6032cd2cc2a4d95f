"""Test the samplers of releases against their transition matrices."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial

import pandas as pd

from deniable.channels import Channel
from deniable.privacy import SamplerTest, audit_sampler
from deniable.release import key_from_seed

RAREST = 1e-4
"""A test with a p-value above this passes: a correct sampler fails once in 10,000 tests."""
SAMPLER_COLUMNS = ("release", "cluster", "cells", *(x.name for x in fields(SamplerTest)), "holds")


def audit_samplers(
    releases: Mapping[str, Mapping[str, Channel]], root_seed: int, draws: int = 400_000
) -> pd.DataFrame:
    """Draw from each channel of all `releases`, by name, and compare the draws with its matrix.

    The keys of channels name the columns that each randomizes. The number of `draws` is divided
    equally between the rows of a matrix; their random streams depend on the `root_seed`. The result
    has one row per channel, with `SAMPLER_COLUMNS`. It ``holds`` if no draw has probability 0 and
    the p-value is above `RAREST`.
    """
    rows = []
    every = ((release, *of) for release, channels in releases.items() for of in channels.items())
    for release, name, channel in every:
        key = key_from_seed(root_seed, "audit of samplers", release, name)
        randomize = partial(channel.report, chance=key.draws("audit"), names=(name,))
        test = audit_sampler(randomize, channel.matrix(), max(draws // channel.size, 1))
        holds = test.impossible == 0 and test.p_value > RAREST
        about = {"release": release, "cluster": name, "cells": channel.size}
        rows.append(about | asdict(test) | {"holds": holds})
    return pd.DataFrame(rows, columns=list(SAMPLER_COLUMNS))
