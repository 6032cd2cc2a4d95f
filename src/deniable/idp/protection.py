"""Protect numeric records by a mechanism: noise on values or centroids, or noisy histograms."""

import numpy as np

from deniable.arrays import Codes, Counts, Floats
from deniable.idp.mechanism import NumericMechanism
from deniable.idp.true_dp import noisy_histograms
from deniable.records import NumericMicrodata
from deniable.sampling import Noise


def protect_numbers(
    mechanism: NumericMechanism,
    data: NumericMicrodata,
    noise: Noise,
    generator: np.random.Generator,
) -> tuple[Floats, Counts | None]:
    """Return the protected numbers of the original `data`, and the noisy counts of histograms.

    Numbers have the shape (records, attributes), in the order of the file. Counts have the shape
    (attributes, classes, bins); they are None for a `mechanism` without histograms. The `noise` is
    added to values, centroids or counts. The `generator` draws synthetic records from noisy counts,
    which is post-processing.
    """
    domains, counts = mechanism.domains, None
    if mechanism.by_histograms:
        codes = class_codes(data)
        tables = noisy_histograms(
            domains.inner(data.values),
            codes,
            len(data.classes) or 1,
            domains.widths,
            bins=mechanism.bins,
            epsilon=mechanism.budget,
            noise=noise,
        )
        values, counts = tables.synthesize(codes, generator), tables.counts
    else:
        masked = mechanism.masking_of(data)
        if mechanism.k:
            values = masked.mask(noise)[0]
        else:  # noise by record number, so that no draw depends on the ranks of values
            centres, scales = map(masked.clusters.expand, (masked.centres, masked.scales))
            values = np.clip(noise.add(centres, scales, 1)[0], 0.0, masked.upper)
    return domains.outer(values), counts


def class_codes(data: NumericMicrodata) -> Codes:
    """Return the class code of each record of `data`, 0 without classes."""
    return data.labels if data.classes else np.zeros(len(data), dtype=np.int8)
