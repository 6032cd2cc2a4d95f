"""Microdata: coded columns of one domain, in memory and on disk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes, Counts
from deniable.errors import DataError
from deniable.records import arrow
from deniable.records.domain import Attribute, Domain, refuse_foreign_codes

if TYPE_CHECKING:
    import pandas as pd


MAX_COUNTED_DOMAIN = 200_000_000
CHUNK_RECORDS = 1 << 20


@dataclass(frozen=True, eq=False)
class Microdata(arrow.ArrowRecords):
    """Records over a `domain`: one column of integer codes for each attribute.

    The `columns`, shape (records,), are in the domain's order, and converted to the smallest
    unsigned type. The `marks` are metadata that are stored with the file, such as its source.
    Raises `DataError` if the columns do not match the attributes or differ in length, or if a code
    is outside 0 .. number of categories - 1.

    Examples
    --------
    >>> sex = Attribute("sex", ("Female", "Male"))
    >>> Microdata(Domain((sex,)), (np.array([0, 1, 1]),)).counts()
    array([1, 2])
    """

    domain: Domain
    columns: tuple[Codes, ...]
    marks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.domain):
            raise DataError(f"{len(self.domain)} attributes, but {len(self.columns)} columns")
        small = []
        for attribute, column in zip(self.domain, self.columns, strict=True):
            where, codes = f"attribute {attribute.name!r}", np.asarray(column)
            if codes.ndim != 1:
                raise DataError(
                    f"{where}: a column of codes has one dimension, not the shape {codes.shape}"
                )
            refuse_foreign_codes(codes, attribute.size, where)
            small.append(codes.astype(attribute.code_type, copy=False))
        if len(lengths := {len(codes) for codes in small}) > 1:
            raise DataError(f"columns differ in length: {sorted(lengths)}")
        object.__setattr__(self, "columns", tuple(small))

    @classmethod
    def of_frame(cls, frame: "pd.DataFrame", domain: Domain | None = None) -> "Microdata":
        """Return the records of a DataFrame with names of categories as values.

        Numbers and booleans in the `frame` are taken as text: 20, true. The `domain` has the
        attributes to take. By default these are all columns, each with the values that occur, as
        text in sorted order. Such a domain reveals information about the records. Raises
        `DataError` if a column is absent, or a value is missing or unknown.

        Examples
        --------
        >>> import pandas as pd
        >>> Microdata.of_frame(pd.DataFrame({"sex": ["F", "M", "M"]})).counts()
        array([1, 2])
        """
        names = [str(name) for name in frame.columns] if domain is None else list(domain.names)
        texts = {name: arrow.column_of(frame, name, pa.string()) for name in names}
        if domain is None:
            seen = [sorted(texts[name].unique().drop_null().to_pylist()) for name in names]
            domain = Domain(tuple(map(Attribute, names, map(tuple, seen))))
        return cls(domain, tuple(encode(texts[a.name], a, "the table") for a in domain))

    def __len__(self) -> int:
        return len(self.columns[0])

    def column(self, name: str) -> Codes:
        """Return the codes of the attribute `name`, shape (records,)."""
        return self.columns[self.domain.position(name)]

    def project(self, names: Sequence[str]) -> "Microdata":
        """Return the records restricted to the attributes `names`, in this order."""
        columns = tuple(self.column(name) for name in names)
        return Microdata(self.domain.project(names), columns, self.marks)

    def counts(self, names: Sequence[str] | None = None) -> Counts:
        """Return the contingency table (int64) of the attributes `names`, by default all.

        Records are counted in batches. The table has the shape of the domain of these attributes.
        Raises `DataError` if it would have more than 200 million cells.
        """
        data = self if names is None else self.project(names)
        if data.domain.size > MAX_COUNTED_DOMAIN:
            raise DataError(
                f"a table of {', '.join(data.domain.names)} has {data.domain.size:.3g} cells, over "
                f"the {MAX_COUNTED_DOMAIN:.0e} that are counted at once; name fewer attributes"
            )
        table = np.zeros(data.domain.size, dtype=np.int64)
        for start in range(0, len(data), CHUNK_RECORDS):
            chunk = [column[start : start + CHUNK_RECORDS] for column in data.columns]
            table += np.bincount(data.domain.ravel(chunk), minlength=data.domain.size)
        return table.reshape(data.domain.shape)

    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table of dictionary-encoded text columns."""
        arrays = [
            pa.DictionaryArray.from_arrays(
                pa.array(column.astype(np.int32)), pa.array(attribute.categories)
            )
            for attribute, column in zip(self.domain, self.columns, strict=True)
        ]
        about = {"attributes": attributes_to_json(self.domain), "marks": dict(self.marks)}
        return pa.table(arrays, names=list(self.domain.names)).replace_schema_metadata(
            {arrow.CATEGORICAL_KEY: json.dumps(about).encode()}
        )


def attributes_to_json(domain: Domain) -> list[dict[str, Any]]:
    """Return the attributes of `domain` as JSON values: name, scale and categories of each."""
    return [{"name": a.name, "scale": a.scale, "categories": list(a.categories)} for a in domain]


def domain_from_json(attributes: Sequence[Mapping[str, Any]]) -> Domain:
    """Return the domain of `attributes`, a result of `attributes_to_json`."""
    own = (Attribute(a["name"], tuple(a["categories"]), a["scale"]) for a in attributes)
    return Domain(tuple(own))


def encode(values: pa.Array, attribute: Attribute, where: str) -> Codes:
    """Return the codes of text `values` of an `attribute`, shape (records,).

    Raises `DataError` for the first missing or unknown value, with `where`, record (from 1),
    column, value and remedy.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - seldom needed, slow to import

    codes = pc.index_in(values, value_set=pa.array(attribute.categories, type=pa.string()))
    if codes.null_count:
        bad = int(np.flatnonzero(codes.is_null().to_numpy(zero_copy_only=False))[0])
        value = values[bad].as_py()
        problem = f"the unknown category '{arrow.shortened(value)}'" if value else "a missing value"
        raise DataError(
            f"{where}: record {bad + 1}, column {attribute.name!r} has {problem}; recode it, or "
            f"list it as a category (now: {arrow.shortened(', '.join(attribute.categories))})"
        )
    return np.asarray(codes.to_numpy(zero_copy_only=False)).astype(attribute.code_type)


def microdata_of(path: Path | str, table: pa.Table, metadata: Mapping[bytes, bytes]) -> Microdata:
    """Return the records of a `table` with its `metadata` at `path`; see `read_true_records`."""
    if arrow.CATEGORICAL_KEY not in metadata:
        raise DataError(
            f"{path}: has no domain in its metadata, so codes have no meaning; take the records "
            "from a table by Microdata.of_frame, and write them again"
        )
    domain, marks = arrow.parse_metadata(
        path,
        metadata[arrow.CATEGORICAL_KEY],
        lambda about: (domain_from_json(about["attributes"]), dict(about["marks"])),
        "domain",
    )
    columns = tuple(encode(arrow.text_column(path, table, a.name), a, str(path)) for a in domain)
    return Microdata(domain, columns, marks)
