"""A numeric data set of workers: its manifest entry and its file."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from deniable.datasets.manifest import ClassAttribute, NumericDataset, load_manifest

PAY = ClassAttribute(name="pay", classes=("low", "high"), at_most=(10.0,))
SEX = ClassAttribute(name="sex", classes=("f", "m"))
TEXT = "age;sex;note;pay\n17.5; f ;x;10\n+44;m;y;10.01\n6e1;m;;3\n"

ENTRY: dict[str, Any] = {
    "title": "Workers",
    "citation": "Nobody (2026).",
    "file": "workers.csv",
    "address": "http://127.0.0.1:9/workers.csv",
    "sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
    "records": 3,
    "delimiter": ";",
    "header": True,
    "surrogate": "surrogates/workers.json",
    "numeric_attributes": [{"name": "age", "bounds": [0, 120]}],
    "class": {"name": "pay", "at_most": [10], "classes": ["low", "high"]},
}


def loaded(folder: Path, **changes: Any) -> NumericDataset:
    """Load the entry with keys replaced, or left out where the new value is ...."""
    entry = {key: value for key, value in {**ENTRY, **changes}.items() if value is not ...}
    (folder / "datasets.yaml").write_text(yaml.safe_dump({"workers": entry}))
    dataset = load_manifest(folder / "datasets.yaml")["workers"]
    assert isinstance(dataset, NumericDataset)
    return dataset


def dataset_of(
    path: Path,
    names: Sequence[str],
    class_attribute: ClassAttribute | None = None,
    positions: Sequence[int] | None = None,
    delimiter: str = ",",
    **changes: Any,
) -> NumericDataset:
    """Load an entry with these numbers and this class, next to the file."""
    numbers: list[dict[str, Any]] = [{"name": name} for name in names]
    for each, position in zip(numbers, positions or [], strict=False):
        each["position"] = position
    own: Any = ...
    if class_attribute is not None:
        values = class_attribute.model_dump(mode="json", exclude_unset=True)
        own = values | ({"position": positions[-1]} if positions else {})
    about = {"delimiter": delimiter, "header": positions is None} | changes
    return loaded(path.parent, numeric_attributes=numbers, **about, **{"class": own})
