"""The manifest of data sets: what it says, and that every fault gives a line of its own."""

from pathlib import Path
from typing import Any

import pytest
from tests.datasets.colours import (
    ENTRY,
    GOOD_SHA,
    OTHER_SHA,
    SECOND,
    changed,
    one_attribute,
    with_numbers,
    write_manifest,
)
from tests.datasets.workers import ENTRY as WORKERS, PAY, loaded

from deniable.datasets.manifest import ClassAttribute, Dataset, NumericDataset, load_manifest
from deniable.errors import DataError

ROOT = Path(__file__).resolve().parents[2]


def test_manifest(tmp_path: Path) -> None:
    dataset = load_manifest(write_manifest(tmp_path, {"colours": ENTRY}))["colours"]
    assert dataset.name == "colours"
    assert dataset.positions == (1, 2)
    assert dataset.domain.names == ("colour", "likes")
    assert [a.scale for a in dataset.domain] == ["nominal", "ordinal"]
    assert (dataset.records, dataset.delimiter, dataset.header) == (20_000, ",", False)
    assert dataset.surrogate == "surrogates/colours.json"


def test_the_manifest_of_the_project() -> None:
    adult = load_manifest(ROOT / "resources" / "datasets.yaml")["adult"]
    assert adult.domain.size == 1_814_400
    assert adult.positions == (1, 3, 5, 6, 7, 8, 9, 14)
    assert all(each.discretization is None for each in adult.attributes)


def test_the_numeric_data_set_of_the_project() -> None:
    manifest = load_manifest(ROOT / "resources" / "datasets.yaml")
    adult, numeric = manifest["adult"], manifest["adult_numeric"]
    assert numeric.file == adult.file
    assert {a.name: a.size for a in numeric.domain if a.scale == "ordinal"} == {
        "age": 7,
        "hours-per-week": 9,
    }
    assert numeric.domain["age"].categories[::6] == ("[17, 20)", "[65, inf)")
    for name in set(numeric.domain.names) - {"age", "hours-per-week"}:
        assert numeric.domain[name] == adult.domain[name]
        assert (
            numeric.positions[numeric.domain.position(name)]
            == (adult.positions[adult.domain.position(name)])
        )


def test_numeric_attributes(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, with_numbers(edges=[-1, 0.5, 1e3], open_below=True))
    dataset = load_manifest(path)["colours"]
    number = dataset.attributes[1].discretization
    assert number is not None
    assert dataset.domain["number"] == number.attribute
    assert number.attribute.scale == "ordinal"
    assert number.attribute.categories == ("(-inf, -1)", "[-1, 0.5)", "[0.5, 1000)", "[1000, inf)")
    assert dataset.positions == (1, 0)


@pytest.mark.parametrize(
    ("entries", "key", "words"),
    [
        (changed(sha256=...), "sha256", "missing"),
        (changed(title=...), "title", "missing"),
        (changed(attributes=...), "attributes", "missing"),
        (changed(sha256="abc"), "sha256", "'abc'; allowed: 64 hexadecimal digits"),
        (changed(sha256=GOOD_SHA.upper()), "sha256", "small letters"),
        (changed(bytes=0), "bytes", "0; allowed: at least 1"),
        (changed(records="many"), "records", "'many'; allowed: a whole number"),
        (changed(records=True), "records", "True; allowed: a whole number"),
        (changed(records=0), "records", "0; allowed: at least 1"),
        (changed(header="no"), "header", "'no'; allowed: true or false"),
        (changed(delimiter=", "), "delimiter", "', '; allowed: one ASCII character"),
        (changed(delimiter="→"), "delimiter", "one ASCII character"),
        (changed(file="../colours.data"), "file", "without a folder"),
        (changed(file=".."), "file", "without a folder"),
        (changed(surrogate="/etc/passwd"), "surrogate", "within the manifest's folder"),
        (changed(surrogate="../../x.json"), "surrogate", "within the manifest's folder"),
        (changed(address="ftp://x/y"), "address", "http or https"),
        (changed(adress="http://x"), "adress", "unknown option; allowed here: title"),
        (changed(attributes=[]), "attributes", "[]; allowed: a list that is not empty"),
        (
            changed(attributes=["colour"]),
            "attributes[0]",
            "'colour'; allowed: a section with options",
        ),
        (one_attribute(name=...), "attributes[1].name", "missing"),
        (one_attribute(position=...), "attributes[1].position", "missing"),
        (one_attribute(position=-1), "attributes[1].position", "-1; allowed: at least 0"),
        (one_attribute(position=1), "attributes[1].position", "1 is taken by attributes[0]"),
        (
            one_attribute(scale="metric"),
            "attributes[1].scale",
            "'metric'; allowed: nominal, ordinal",
        ),
        (
            one_attribute(categories=["no", True]),
            "attributes[1].categories[1]",
            "True; allowed: text",
        ),
        (
            one_attribute(categories=["no", " yes"]),
            "attributes[1].categories[1]",
            "' yes'; allowed",
        ),
        (one_attribute(categories=["no", "no"]), "attributes[1]", "'no' twice"),
        (one_attribute(name="colour"), "attributes[1].name", "'colour' is taken by"),
        (changed(header=True), "attributes[0].position", "not used here"),
        (one_attribute(categories=...), "attributes[1]", "neither categories nor edges given; al"),
        (
            one_attribute(open_above=True),
            "attributes[1]",
            "open_above is not used together with categ",
        ),
        (
            with_numbers(categories=["a"]),
            "attributes[1]",
            "categories is not used together with edges",
        ),
        (with_numbers(scale="nominal"), "attributes[1]", "scale is not used together with edges"),
        (with_numbers(edges=[]), "attributes[1].edges", "[]; allowed: a list that is not"),
        (with_numbers(edges=17), "attributes[1].edges", "17; allowed: a list"),
        (with_numbers(edges=[0, "1e3"]), "attributes[1].edges[1]", "'1e3'; allowed: a number ("),
        (with_numbers(edges=[0, True]), "attributes[1].edges[1]", "True; allowed: a number"),
        (with_numbers(edges=[0, float("inf")]), "attributes[1].edges[1]", "open_above"),
        (with_numbers(edges=[0, float("nan")]), "attributes[1].edges[1]", "a finite number"),
        (with_numbers(edges=[0, 10**400]), "attributes[1].edges[1]", "allowed: a number"),
        (with_numbers(edges=[0, 5, 2]), "attributes[1]", "the edge 2 after 5; edges must increase"),
        (with_numbers(edges=[0], open_above=...), "attributes[1]", "too few edges"),
        (with_numbers(open_below="yes"), "attributes[1].open_below", "'yes'; allowed: true or"),
        (with_numbers(position=1), "attributes[1].position", "1 is taken by attributes[0]"),
        (with_numbers(position=...), "attributes[1].position", "missing"),
    ],
)
def test_malformed_entries(tmp_path: Path, entries: Any, key: str, words: str) -> None:
    path = write_manifest(tmp_path, entries)
    with pytest.raises(DataError) as caught:
        load_manifest(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: dataset 'colours': {key}: ")
    assert words in message
    assert "\n" not in message


def test_each_fault_has_its_line(tmp_path: Path) -> None:
    columns = [{"name": 7, "position": 0, "categories": ["a", 1]}, {"name": "b", "edgs": [1]}]
    path = write_manifest(tmp_path, changed(sha256="abc", records=..., attributes=columns))
    with pytest.raises(DataError) as caught:
        load_manifest(path)
    keys = [line.split(": ")[2] for line in str(caught.value).splitlines()]
    assert keys == [
        *("sha256", "records"),
        *("attributes[0].name", "attributes[0].categories[1]", "attributes[1].edgs"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colours: [", "line 1"),
        ("", "no data sets"),
        ("- colours", "no data sets"),
        ("colours: 3", "dataset 'colours': 3; allowed: a section"),
        ("3: {}", "dataset 3: use a text"),
        ("a/b: {}", "dataset 'a/b': use a text"),
        ("colours: {day: 2026-99-99}", "month must be in"),
        ("colours: {}\nshades: {}\ncolours: {}", "line 3: colours is given a second time"),
    ],
)
def test_malformed_manifests(tmp_path: Path, text: str, words: str) -> None:
    path = write_manifest(tmp_path, text)
    with pytest.raises(DataError) as caught:
        load_manifest(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_manifest_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.yaml: No such file"):
        load_manifest(tmp_path / "absent.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"colours: caf\xe9")
    with pytest.raises(DataError, match=r"latin\.yaml: not UTF-8"):
        load_manifest(tmp_path / "latin.yaml")


def test_two_data_sets_of_one_file(tmp_path: Path) -> None:
    both = load_manifest(write_manifest(tmp_path, {"a": ENTRY, "b": SECOND}))
    assert both["a"].file == both["b"].file
    assert both["b"].domain.names == ("number",)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("sha256", OTHER_SHA, f"'{OTHER_SHA}', but 'a', of the same file 'colours.data', has"),
        ("address", "http://other", "'http://other', but 'a'"),
        ("bytes", 7, "7, but 'a', of the same file 'colours.data', has None; make them equal"),
        ("records", 7, "7, but 'a', of the same file 'colours.data', has 20000; make them eq"),
        ("delimiter", ";", "';', but 'a'"),
        ("surrogate", ENTRY["surrogate"], "is the surrogate of 'a' too; give each"),
    ],
)
def test_two_data_sets_that_contradict_each_other(
    tmp_path: Path, key: str, value: Any, words: str
) -> None:
    path = write_manifest(tmp_path, {"a": ENTRY, "b": {**SECOND, key: value}})
    with pytest.raises(DataError) as caught:
        load_manifest(path)
    assert str(caught.value).startswith(f"{path}: dataset 'b': {key}: ")
    assert words in str(caught.value)


# ---- numeric data sets ----------------------------------------------------------------------


def test_the_numbers_of_the_project() -> None:
    manifest = load_manifest(ROOT / "resources" / "datasets.yaml")
    assert list(manifest) == ["adult", "adult_numeric", "adult_age", "census", "wine"]
    assert all(isinstance(each, Dataset) for each in [*manifest.values()][:3])
    census, wine = manifest["census"], manifest["wine"]
    assert isinstance(census, NumericDataset)
    assert isinstance(wine, NumericDataset)
    assert census.names == (
        "AFNLWGT",
        "AGI",
        "EMCONTRB",
        "FEDTAX",
        "STATETAX",
        "TAXINC",
        "POTHVAL",
        "INTVAL",
        "FICA",
    )
    assert census.class_attribute == ClassAttribute(
        name="ERNVAL", classes=("<=30K", ">30K"), at_most=(30000.0,)
    )
    assert (census.format, census.records, wine.format, wine.records) == ("rda", 1080, "csv", 4898)
    assert len(wine.names) == 11
    assert wine.class_attribute == ClassAttribute(
        name="quality", classes=("Not Excellent", "Excellent"), at_most=(6,)
    )
    for dataset in (census, wine):
        assert set(dataset.bounds) == set(dataset.names)


def test_a_users_own_data_set(tmp_path: Path) -> None:
    dataset = loaded(tmp_path)
    assert (dataset.names, dataset.positions, dataset.format) == (("age",), (), "csv")
    assert dataset.bounds == {"age": (0.0, 120.0)}
    assert dataset.class_attribute == PAY
    plain = loaded(
        tmp_path,
        header=False,
        numeric_attributes=[{"name": "age", "position": 0}, {"name": "pay", "position": 3}],
        **{"class": {"name": "sex", "position": 1, "classes": ["f", "m"]}},
    )
    assert (plain.positions, plain.bounds) == ((0, 3, 1), {})
    assert plain.class_attribute == ClassAttribute(name="sex", classes=("f", "m"), position=1)
    assert loaded(tmp_path, **{"class": ...}).class_attribute is None


def attribute(**changes: Any) -> dict[str, Any]:
    return {"numeric_attributes": [{"name": "age"} | changes]}


def classified(**changes: Any) -> dict[str, Any]:
    given = WORKERS["class"] | changes
    return {"class": {key: value for key, value in given.items() if value is not ...}}


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"numeric_attributes": []}, "numeric_attributes", "[]; allowed: a list that is not empty"),
        (
            {"numeric_attributes": ["age"]},
            "numeric_attributes[0]",
            "'age'; allowed: a section with options",
        ),
        ({"attributes": []}, "attributes", "unknown option; allowed here: title"),
        ({"format": "xlsx"}, "format", "'xlsx'; allowed: csv, rda"),
        ({"format": "rda"}, "delimiter", "not used here"),
        ({"delimiter": ...}, "delimiter", "missing; it must be given"),
        ({"records": 0}, "records", "0; allowed: at least 1"),
        (attribute(name=7), "numeric_attributes[0].name", "7; allowed: text"),
        (attribute(position=0), "numeric_attributes[0].position", "not used here"),
        (attribute(scale="ordinal"), "numeric_attributes[0].scale", "unknown option"),
        (
            attribute(bounds=[5, 5]),
            "numeric_attributes[0].bounds",
            "[5.0, 5.0]; allowed: [lower, upper]",
        ),
        (attribute(bounds=[5]), "numeric_attributes[0].bounds[1]", "missing; it must be given"),
        (attribute(bounds=[0, float("inf")]), "numeric_attributes[0].bounds[1]", "a finite number"),
        (attribute(bounds=["0", 1]), "numeric_attributes[0].bounds[0]", "'0'; allowed: a number ("),
        (
            {"numeric_attributes": [{"name": "age"}, {"name": "age"}]},
            "numeric_attributes[1].name",
            "'age' is taken by numeric_attributes[0]",
        ),
        (classified(name="age"), "class.name", "'age' is taken by numeric_attributes[0]"),
        (classified(name=...), "class.name", "missing"),
        (classified(classes=["low"]), "class.classes", "two or more different texts"),
        (classified(classes=["low", "low"]), "class.classes", "two or more different texts"),
        (classified(classes=["low", 2]), "class.classes[1]", "2; allowed: text, in quotes"),
        (
            classified(at_most=[3, 10]),
            "class",
            "at_most is [3.0, 10.0]; allowed: one number fewer than the 2 classes",
        ),
        (
            classified(at_most=[]),
            "class",
            "at_most is []; allowed: one number fewer than the 2 classes",
        ),
        (
            classified(at_most=["10"]),
            "class.at_most[0]",
            "'10'; allowed: a number (without quotes)",
        ),
        ({"class": "pay"}, "class", "'pay'; allowed: a section with options"),
        (
            {"header": False, "numeric_attributes": [{"name": "age", "position": 0}]}
            | classified(position=0),
            "class.position",
            "0 is taken by numeric_attributes[0]",
        ),
        ({"header": False}, "numeric_attributes[0].position", "missing"),
    ],
)
def test_malformed_entries_of_numbers(
    tmp_path: Path, changes: dict[str, Any], key: str, words: str
) -> None:
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, **changes)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'datasets.yaml'}: dataset 'workers': {key}: ")
    assert words in message
    assert "\n" not in message
