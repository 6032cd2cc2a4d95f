"""Clusters of columns that depend on each other, found in records or in randomized values."""

from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from deniable.errors import DeniableError
from deniable.validation import Share, Strict

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.arrays import Counts, Floats
    from deniable.plans.interface import Origin
    from deniable.plans.settings.shared import Released
    from deniable.responses import Responses, Table
    from deniable.schema import RecordsFile, Schema

RECORDS = "records"


class ClustersSettings(Strict):
    """Clusters by Algorithm 1 of [multirr]: columns that depend on each other share a channel.

    Attributes
    ----------
    source : str
        Option ``from``: "records" for the original records, or the name of a release of the same
        respondents, or of another part of them, whose randomized values are used.
    by : str
        For randomized values: dependences of the "attributes" as released, or of the joint
        distributions estimated from them ("attributes_inverted").
    t_v : int
        Largest number of joint cells of a cluster.
    t_d : float
        Smallest dependence of columns that are merged.
    ordinal : list of str
        Columns whose dependence is measured by Pearson's correlation, besides the ordered ones.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    source: Annotated[str, Field(min_length=1, alias="from")]
    by: Literal["attributes", "attributes_inverted"] = "attributes"
    t_v: Annotated[int, Field(ge=2, le=1000)]
    t_d: Share
    ordinal: list[str] = Field(default_factory=list)

    def find(
        self, schema: "Schema", data: "RecordsFile | None", released: "Released | None"
    ) -> "tuple[tuple[tuple[str, ...], ...], Origin]":
        """Return the clusters of several columns, and the information that they follow from.

        Parameters
        ----------
        schema : Schema
            Its randomized columns are clustered.
        data : RecordsFile, optional
            The original records.
        released : mapping of str to Responses, optional
            Responses of other releases, by name.

        Raises
        ------
        DeniableError
            If the records or the release are missing, or the release has other columns.
        """
        if self.source == RECORDS:
            from deniable.plans.curator import clusters_from  # noqa: PLC0415

            if data is None:
                raise DeniableError("clusters from records: the original records are missing")
            domain = schema.domain()
            found = clusters_from(data, self.t_v, self.t_d, self.ordinal, domain)
            return found, "the data, by a curator"
        if self.source not in (released or {}):
            known = ", ".join(released or {}) or "none"
            raise DeniableError(
                f"clusters from {self.source!r}: no release of this name; allowed: {RECORDS}, or a "
                f"release of the same population; given: {known}"
            )
        return self._in_responses(schema, (released or {})[self.source]), "randomized answers"

    def _in_responses(
        self, schema: "Schema", responses: "Responses"
    ) -> tuple[tuple[str, ...], ...]:
        from deniable.randomized_response import (  # noqa: PLC0415
            cluster_attributes,
            dependences_from_tables,
            pair_measures,
        )

        domain = schema.domain()
        pairs = {pair: responses.table(pair) for pair in combinations(domain.names, 2)}
        for pair, table in pairs.items():
            if table.domain != domain.project(pair):
                raise DeniableError(
                    f"clusters from {self.source!r}: {' and '.join(pair)} have other categories "
                    "there; name a release of the same columns"
                )
        counted = responses.count([table.reports for table in pairs.values()])
        tables = {
            pair: self._table(pair, table, each.tally)
            for (pair, table), each in zip(pairs.items(), counted, strict=True)
        }
        measured = dependences_from_tables(tables, pair_measures(domain, self.ordinal))
        clusters = cluster_attributes(domain, measured, self.t_v, self.t_d)
        return tuple(cluster for cluster in clusters if len(cluster) > 1)

    def _table(self, pair: tuple[str, str], table: "Table", counts: "Counts") -> "Floats":
        """Return the two-way table on which the dependence of a pair is measured."""
        from deniable.estimation import clip_and_rescale, unbiased_or_uniform  # noqa: PLC0415

        if self.by == "attributes_inverted":
            estimate = clip_and_rescale(unbiased_or_uniform(counts, table.channel))
            return estimate[table.order].reshape(table.domain.shape)
        if table.reports.names != pair:
            raise DeniableError(
                f"clusters from {self.source!r}: the randomized values of {' and '.join(pair)} are "
                "not their categories; use by: attributes_inverted"
            )
        return counts.astype(float).reshape(table.domain.shape)
