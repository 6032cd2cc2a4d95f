"""Read records of published files, categorical or numeric, and draw from their surrogates."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from deniable.arrays import Floats
from deniable.datasets import copula, networks, numeric_surrogates, surrogates
from deniable.datasets.manifest import AnyDataset, ClassAttribute, Dataset, NumericDataset
from deniable.errors import DataError, from_extras
from deniable.records import (
    Attribute,
    ClassCodes,
    Microdata,
    NumericMicrodata,
    encode,
    leading_numbers,
    no_number,
    read_csv,
    shortened,
    text_columns,
)


@overload
def read_published(dataset: Dataset, path: Path | str) -> Microdata: ...
@overload
def read_published(dataset: NumericDataset, path: Path | str) -> NumericMicrodata: ...
def read_published(dataset: AnyDataset, path: Path | str) -> Microdata | NumericMicrodata:
    """Read the published file of a `dataset`, categorical or numeric, at `path`.

    A `DataError` is raised as by `deniable.records.read_csv`, `read_numeric_csv` or
    `read_data_frame`, and for another number of records than the manifest's.
    """
    data: Microdata | NumericMicrodata
    if isinstance(dataset, NumericDataset):
        read = read_data_frame if dataset.format == "rda" else read_numeric_csv
        data = read(dataset, path)
    else:
        data = read_csv(
            path,
            dataset.domain,
            discretizations=dataset.discretizations,
            column_positions=None if dataset.header else dataset.positions,
            delimiter=dataset.delimiter,
        )
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

    The file `model` has a Bayesian network of a categorical data set, or a copula of a numeric one;
    `generator` draws. A `DataError` is raised if the model cannot be read, or has other attributes
    than the manifest.
    """
    if isinstance(dataset, Dataset):
        network = networks.read(model, dataset.domain)
        return surrogates.sample(network, dataset.records, generator)
    return numeric_surrogates.sample(read_copula(dataset, model), dataset.records, generator)


def read_copula(dataset: NumericDataset, model: Path | str) -> copula.Copula:
    """Read the copula of a numeric `dataset` from the file `model`.

    A `DataError` is raised if it cannot be read, or has other attributes or classes than the
    manifest.
    """
    found = copula.read(model)
    given = dataset.class_attribute
    of_the_manifest = (dataset.names, *((given.name, given.classes) if given else ("", ())))
    if (found.names, found.class_name, found.classes) != of_the_manifest:
        raise DataError(
            f"{model}: its attributes or classes are not those of the manifest; restore the file, "
            "or fit it again"
        )
    return found


def fit_surrogate(
    dataset: AnyDataset, origin: Path | str, model: Path | str, *, sha256: str, generator: Generator
) -> Any:
    """Fit the surrogate of a `dataset` to its published file `origin`, and write it to `model`.

    It contains the `sha256` of the published file. Returned is the distance of as many records,
    drawn by `generator`, from the file: the table of `surrogates.pairwise_total_variation` or of
    `numeric_surrogates.fidelity`. A `DataError` is raised if the file cannot be read or fitted.
    """
    if isinstance(dataset, Dataset):
        data = read_published(dataset, origin)
        network = surrogates.fit(data, sha256=sha256)
        drawn = surrogates.sample(network, dataset.records, generator)
        networks.write(model, network)
        return surrogates.pairwise_total_variation(data, drawn)
    numbers = read_published(dataset, origin)
    fitted = numeric_surrogates.fit(numbers, sha256=sha256)
    copula.write(model, fitted)
    stand_in = numeric_surrogates.sample(fitted, dataset.records, generator)
    return numeric_surrogates.fidelity(numbers, stand_in)


def read_numeric_csv(dataset: NumericDataset, path: Path | str) -> NumericMicrodata:
    """Read the numbers, and the class, of a `dataset` from the CSV file `path`, in chunks.

    A `DataError` has file, record, column, value and remedy, as by `deniable.records.read_csv`, and
    for a value that is missing or not a finite number, or an unknown class.
    """
    wanted = [column.name for column in dataset.columns.values()]
    positions = None if dataset.header else dataset.positions
    chunks: list[list[Any]] = [[] for _ in wanted]
    for before, columns in text_columns(path, wanted, positions, dataset.delimiter):
        for name, column, parsed in zip(dataset.names, columns, chunks, strict=False):
            parsed.append(_numbers(column, f"{path}", name, before + 1))
        if own := dataset.class_attribute:
            chunks[-1].append(_classes(columns[-1], own, f"{path}", before + 1))
    return _numeric_microdata(dataset, [np.concatenate(each) for each in chunks])


def _numeric_microdata(dataset: NumericDataset, columns: Sequence[Any]) -> NumericMicrodata:
    """Return the records with these columns, the class last."""
    if not (own := dataset.class_attribute):
        return NumericMicrodata(dataset.names, np.column_stack(columns))
    values = np.column_stack(columns[:-1])
    return NumericMicrodata(dataset.names, values, own.name, own.classes, columns[-1])


def _numbers(texts: pa.Array, where: str, name: str, first_record: int) -> Floats:
    numbers = leading_numbers(texts)
    if (bad := len(numbers)) < len(texts):
        raise DataError(_fault(where, first_record + bad, name, no_number(texts[bad].as_py())))
    finite = np.isfinite(numbers)
    if not finite.all():
        bad = int(finite.argmin())
        problem = f"has '{shortened(texts[bad].as_py())}', which is too large a number"
        raise DataError(_fault(where, first_record + bad, name, problem))
    return numbers


def _fault(where: str, record: int, name: str, problem: str) -> str:
    return (
        f"{where}: record {record}, column {name!r} {problem}; give a number, or leave the record "
        "out"
    )


def _classes(
    texts: pa.Array, class_attribute: ClassAttribute, where: str, first_record: int
) -> ClassCodes:
    """Return the codes of classes from their names, or from numbers."""
    if class_attribute.at_most:
        numbers = _numbers(texts, where, class_attribute.name, first_record)
        return _class_of(numbers, class_attribute)
    categories = Attribute(class_attribute.name, class_attribute.classes)
    return encode(texts, categories, where, first_record).astype(np.int8)


def _class_of(numbers: Floats, class_attribute: ClassAttribute) -> ClassCodes:
    """Return the first class with an upper end that is not below the number, or the last."""
    return np.searchsorted(class_attribute.at_most, numbers, side="left").astype(np.int8)


def read_data_frame(dataset: NumericDataset, path: Path | str) -> NumericMicrodata:
    """Read the numbers, and the class, of a `dataset` from the R data file (.rda) at `path`.

    A `DataError` is raised for a file that cannot be read or does not hold one data frame, and as
    by `read_numeric_csv`.
    """
    frame = _only_frame(Path(path))
    for column in dataset.columns.values():
        if column.name not in frame:
            raise DataError(
                f"{path}: no column {column.name!r} in the data frame "
                f"({shortened(', '.join(map(str, frame)))}); each attribute needs a column"
            )
    columns: list[Any] = [_frame_numbers(frame[name], f"{path}", name) for name in dataset.names]
    if own := dataset.class_attribute:
        if own.at_most:
            labels = _class_of(_frame_numbers(frame[own.name], f"{path}", own.name), own)
        else:
            texts = [value.strip() if isinstance(value, str) else "" for value in frame[own.name]]
            labels = _classes(pa.array(texts, type=pa.string()), own, f"{path}", 1)
        columns.append(labels)
    return _numeric_microdata(dataset, columns)


def _only_frame(file: Path) -> Any:
    import pandas as pd  # noqa: PLC0415 - seldom needed, slow to import

    with from_extras():
        import rdata  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # guesses about a file that is then refused
            objects = rdata.read_rda(file)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; check the path") from None
    except Exception as error:  # whatever bytes that are no R data lead a parser to
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(
            f"{file}: not readable as R data ({shortened(reason)}); get the published file again"
        ) from None
    # A file of one unnamed object (.rds) comes as that object.
    named = objects if isinstance(objects, dict) else {"unnamed": objects}
    frames = [each for each in named.values() if isinstance(each, pd.DataFrame)]
    if len(frames) != 1:
        raise DataError(
            f"{file}: {len(frames)} data frames among its objects ({', '.join(named)}); give a "
            "file with one"
        )
    return frames[0]


def _frame_numbers(column: Any, where: str, name: str) -> Floats:
    try:
        numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        for record, value in enumerate(column, start=1):
            if isinstance(value, str) or not np.isscalar(value):
                problem = f"has '{shortened(str(value))}', which is no number"
                raise DataError(_fault(where, record, name, problem)) from None
        raise DataError(f"{where}: column {name!r} holds no numbers; give some") from None
    finite = np.isfinite(numbers)
    if not finite.all():
        bad = int(finite.argmin())
        problem = "has a missing value" if np.isnan(numbers[bad]) else "has an infinite value"
        raise DataError(_fault(where, bad + 1, name, problem))
    return numbers
