"""Records of published files and of their surrogates, and schemas that describe them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import yaml
from numpy.random import Generator

from deniable.arrays import Codes, Floats
from deniable.datasets import copula, networks, numeric_surrogates, surrogates
from deniable.datasets.manifest import AnyDataset, Dataset, NumericDataset
from deniable.errors import DataError, from_extras
from deniable.files import write_text
from deniable.records import (
    Attribute,
    Discretization,
    Microdata,
    NumericMicrodata,
    column_of,
    encode,
    shortened,
)
from deniable.schema import CsvText, ValidationErrors, weights_of

HEAD = "# Written with the records beside it. Categories and bounds are those of the manifest.\n"


@overload
def read_published(dataset: Dataset, path: Path | str) -> Microdata: ...
@overload
def read_published(dataset: NumericDataset, path: Path | str) -> NumericMicrodata: ...
def read_published(dataset: AnyDataset, path: Path | str) -> Microdata | NumericMicrodata:
    """Read the published file of a `dataset`, categorical or numeric, at `path`.

    Raises `DataError`, with file, record, column, value and remedy, for rows of another length, and
    for values that are missing, not numbers, in no interval or in no category. Another number of
    records than in the manifest is an error too.
    """
    data: Microdata | NumericMicrodata
    if isinstance(dataset, Dataset):
        pairs = zip(dataset.attributes, _csv_columns(dataset, Path(path)), strict=True)
        codes = (_codes(each.attribute, each.discretization, own, path) for each, own in pairs)
        data = Microdata(dataset.domain, tuple(codes))
    else:
        read = _frame_columns if dataset.format == "rda" else _csv_columns
        data = _numeric_microdata(dataset, read(dataset, Path(path)), path)
    if len(data) != dataset.records:
        raise DataError(
            f"{path}: {len(data):,} records, but the manifest says {dataset.records:,} for "
            f"{dataset.name!r}; get the published file again from {dataset.address}"
        )
    return data


def draw_surrogate(
    dataset: AnyDataset, model: Path | str, generator: Generator
) -> Microdata | NumericMicrodata:
    """Draw as many records as the published file of `dataset` has, from its surrogate.

    The file `model` has a Bayesian network for a categorical data set, or a copula for a numeric
    one. The `generator` draws. Raises `DataError` if the model cannot be read, or has other
    attributes than the manifest.
    """
    if isinstance(dataset, Dataset):
        network = networks.read(model)
        if network.domain == dataset.domain:
            return surrogates.sample(network, dataset.records, generator)
    else:
        fitted, given = copula.read(model), dataset.class_attribute
        of_the_manifest = (dataset.names, *((given.name, given.classes) if given else ("", ())))
        if (fitted.names, fitted.class_name, fitted.classes) == of_the_manifest:
            return numeric_surrogates.sample(fitted, dataset.records, generator)
    raise DataError(
        f"{model}: its attributes, categories or classes differ from the manifest; restore the "
        "file, or fit it again"
    )


def fit_surrogate(
    dataset: AnyDataset, origin: Path | str, model: Path | str, *, sha256: str
) -> None:
    """Fit the surrogate of a `dataset` to its published file `origin`, and write it to `model`.

    The model has the `sha256` of the file, and the distance between the file and as many records of
    the surrogate. Raises `DataError` if the file cannot be read or fitted.
    """
    data: Any = read_published(dataset, origin)
    if isinstance(dataset, Dataset):
        networks.write(model, surrogates.fit(data, sha256=sha256))
    else:
        copula.write(model, numeric_surrogates.fit(data, sha256=sha256))


def write_schema(
    path: Path | str,
    data: Microdata | NumericMicrodata,
    population: str,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Write the schema of `data`, as stored by `write_parquet`, to the YAML file `path`.

    The records are from the `population`. `bounds` are public bounds (low, high) of numeric
    columns; a numeric column without bounds is declared ``left_out``.
    """
    if isinstance(data, Microdata):
        columns: list[dict[str, Any]] = [
            {"name": each.name, "kind": "categorical", "categories": [*each.categories]}
            | ({"ordered": True} if each.scale == "ordinal" else {})
            for each in data.domain
        ]
    else:
        public = {name: [*ends] for name, ends in (bounds or {}).items()}
        columns = [
            {"name": name, "kind": "numeric", "type": "double", "bounds": public[name]}
            if name in public
            else {"name": name, "kind": "left_out", "type": "double"}
            for name in data.names
        ]
        if data.classes:
            column = {"name": data.class_name, "kind": "categorical"}
            columns.append(column | {"categories": [*data.classes]})
    values = {"format": "deniable-schema", "version": 1, "population": population}
    values |= {"file": {"kind": "parquet"}, "columns": columns}
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=float("inf"))
    write_text(path, HEAD + text, private=True)


def _csv_columns(dataset: AnyDataset, file: Path) -> list[pa.Array]:
    """Return the columns of a CSV file as text without outer white space."""
    text = CsvText.open(file, dataset.delimiter, "utf-8")
    header = [name.strip() for name in text.names]
    places = dataset.positions
    if dataset.header:
        places = tuple(_place(file, header, each.name) for each in dataset.columns.values())
    elif max(places) >= len(header):
        raise DataError(
            f"{file}: the first line has {len(header)} columns, but column {max(places)} (from 0) "
            f"is needed; check the delimiter {dataset.delimiter!r} and the file"
        )
    # Names are positions, because a header may repeat the name of columns that are not needed.
    names = tuple(map(str, range(len(header))))
    wanted, faults = [names[place] for place in places], ValidationErrors()
    by_position = replace(text, names=names, header=dataset.header)
    batches = list(by_position.batches((), wanted, faults))
    faults.raise_if_any()
    if not sum(batch.num_rows for batch in batches):
        raise DataError(f"{file}: no records; give a file with at least one")
    table = pa.Table.from_batches(batches)
    return [pc.utf8_trim_whitespace(table.column(name).combine_chunks()) for name in wanted]


def _place(file: Path, header: Sequence[str], name: str) -> int:
    if header.count(name) != 1:
        problem = "no column" if name not in header else "more than one column"
        raise DataError(
            f"{file}: {problem} {name!r} in the header ({shortened(', '.join(header))}); "
            "each attribute needs exactly one column with its name"
        )
    return header.index(name)


def _numeric_microdata(
    dataset: NumericDataset, columns: Sequence[pa.Array], path: Path | str
) -> NumericMicrodata:
    pairs = zip(dataset.names, columns, strict=False)
    values = np.column_stack([_numbers(texts, path, name) for name, texts in pairs])
    if not (given := dataset.class_attribute):
        return NumericMicrodata(dataset.names, values)
    if given.at_most:
        # The first class with an upper end that is not below the number, or the last class.
        numbers = _numbers(columns[-1], path, given.name)
        labels = np.searchsorted(given.at_most, numbers, side="left").astype(np.int8)
    else:
        categories = Attribute(given.name, given.classes)
        labels = encode(columns[-1], categories, str(path)).astype(np.int8)
    return NumericMicrodata(dataset.names, values, given.name, given.classes, labels)


def _codes(
    attribute: Attribute, intervals: Discretization | None, texts: pa.Array, path: Path | str
) -> Codes:
    if intervals is None:
        return encode(texts, attribute, str(path))
    numbers = _numbers(texts, path, attribute.name)
    try:
        return intervals.codes(numbers)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _numbers(texts: pa.Array, path: Path | str, name: str) -> Floats:
    """Return the numbers in `texts`; raise `DataError` for the first that is not finite."""
    numbers = weights_of(texts, ".")
    if not (finite := np.isfinite(numbers)).all():
        bad = int(finite.argmin())
        kind = "too large a number" if np.isinf(numbers[bad]) else "not a number"
        text = texts[bad].as_py()
        problem = f"has '{shortened(text)}', which is {kind}" if text else "has a missing value"
        raise DataError(
            f"{path}: record {bad + 1}, column {name!r} {problem}; give a number, or leave the "
            "record out"
        )
    return numbers


def _frame_columns(dataset: NumericDataset, file: Path) -> list[pa.Array]:
    """Return the columns of an R data file (.rda) as text, from which the same numbers are read."""
    with from_extras():
        import rdata  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about guesses for a file that then raises an error
            objects = rdata.read_rda(file)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; check the path") from None
    except Exception as error:  # a parser may raise anything for bytes that are not R data
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(
            f"{file}: not readable as R data ({shortened(reason)}); get the published file again"
        ) from None
    # A file of one unnamed object (.rds) is read as this object.
    named = objects if isinstance(objects, dict) else {"unnamed": objects}
    if len(frames := [each for each in named.values() if isinstance(each, pd.DataFrame)]) != 1:
        raise DataError(
            f"{file}: {len(frames)} data frames among its objects ({', '.join(named)}); give a "
            "file with one"
        )
    try:
        columns = [column_of(frames[0], x.name, pa.string()) for x in dataset.columns.values()]
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    return [pc.utf8_trim_whitespace(column) for column in columns]
