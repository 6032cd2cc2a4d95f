"""Files of transactions: what a basket is, drafts, and what invalid input gets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.cli import main
from deniable.errors import DataError
from deniable.schema import RecordsFile, Schema, schema_from_dict
from deniable.schema.draft import drafted
from deniable.schema.formats import transactions

ITEMS = ("tea", "oat milk", "rye")


def schema_of(items: Any = ITEMS, **form: str) -> Schema:
    columns = [
        {"name": name, "kind": "categorical", "categories": ["absent", "present"]} for name in items
    ]
    about = {"format": "deniable-schema", "population": "shop", "columns": columns}
    return schema_from_dict(about | {"file": {"kind": "transactions", "delimiter": ","} | form})


def read(path: Path, schema: Schema, rows: int = 1 << 18) -> list[list[int]]:
    batches = [batch.codes for batch in RecordsFile.open(path, schema).portions(rows)]
    parts = [np.stack([*each.values()], axis=1) for each in batches]
    found: list[list[int]] = np.concatenate(parts).tolist()
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("rows", [1, 2, 1 << 18])
def test_a_basket_is_a_line_and_an_item_counts_once(tmp_path: Path, end: str, rows: int) -> None:
    lines = ["tea,oat milk,tea", "", " rye , tea,,", "oat milk"]
    for last in ("", end):
        file = tmp_path / "baskets.txt"
        file.write_bytes((end.join(lines) + last).encode("utf-8-sig"))
        assert read(file, schema_of(), rows) == [[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0]]


def test_columns_are_those_of_a_plain_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "deniable.schema.formats.csv_text.BLOCK_BYTES", 97
    )  # blocks end inside lines
    names = [f"{number}é" for number in range(8)]
    has = np.random.default_rng(1).random((100, 8)) < 0.2
    text = "\n".join(" ".join(names[item] for item in np.flatnonzero(row)) for row in has)
    for encoding in ("utf-8", "latin-1"):
        (tmp_path / "b.dat").write_bytes(text.encode(encoding))
        found = read(tmp_path / "b.dat", schema_of(names, delimiter=" ", encoding=encoding))
        assert found == has.astype(int).tolist()


def test_unknown_items_are_refused_with_their_line_or_ignored(tmp_path: Path) -> None:
    file = tmp_path / "baskets.txt"
    file.write_text("tea\ntea,jam,jam\nfig\njam\n")
    with pytest.raises(DataError) as error:
        read(file, schema_of())
    first, second = str(error.value).splitlines()
    assert first.startswith(f"{file}: line 2, item 'jam' is not in the schema; correct it, add")
    assert first.endswith("(2 lines have it)")
    assert second.startswith(f"  {file}: line 3, item 'fig'")
    ignoring = schema_of(unknown_items="ignore")
    assert read(file, ignoring) == [[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("content", "form", "items", "message"),
    [
        (b"", {}, ITEMS, "no records"),
        (b"a\0b", {}, ITEMS, "line 1 has the character NUL"),
        (b"tea\n\xff\n", {}, ITEMS, "line 2 is not text in the encoding utf-8"),
        (b"tea\n", {"encoding": "utf-5"}, ITEMS, "the encoding 'utf-5' is unknown to Python"),
        (b"tea\n", {}, ("a,b",), "no basket can name the item 'a,b', because ','"),
        (b"tea\n", {}, (" a",), "no basket can name the item ' a'"),
        (b"t" * 200, {}, ITEMS, "line 1 has over 97 bytes; write each basket on a line"),
        (None, {}, ITEMS, "No such file or directory; check the path"),
    ],
)
def test_one_message_for_each_invalid_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    form: dict[str, str],
    items: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.setattr(transactions, "BLOCK_BYTES", 97)
    if content is not None:
        (tmp_path / "baskets.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(tmp_path / "baskets.txt", schema_of(items, **form))


@pytest.mark.parametrize(
    "column",
    [
        {"name": "n", "kind": "numeric", "bounds": [0, 1]},
        {"name": "w", "kind": "weight"},
        {"name": "c", "kind": "categorical", "categories": ["a", "b", "c"]},
    ],
)
def test_other_columns_than_items_are_refused(column: dict[str, Any]) -> None:
    values = schema_of().to_json()
    with pytest.raises(DataError, match=r"allowed: \[absent, present\] as categories, or left_out"):
        schema_from_dict(values | {"columns": [*values["columns"], column]})
    with pytest.raises(DataError, match="unknown_items; allowed: in a file of transactions"):
        schema_from_dict(values | {"file": {"kind": "csv", "unknown_items": "ignore"}})


def test_a_draft_lists_the_items_and_warns_that_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "baskets.dat"
    file.write_text("2 10 2 \n\n10\n1\n")
    assert main(["schema", str(file), "--transactions", "--population", "shop"]) == 0
    text, about = capsys.readouterr()
    schema = schema_from_dict(text)
    assert "Transactions, delimiter ' ' (detected)" in about
    assert schema.drafted == ("1", "10", "2")
    assert read(file, schema) == [[0, 1, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(DataError, match="no basket has an item"):
        drafted(tmp_path / "empty", transactions=True)
