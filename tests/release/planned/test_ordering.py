"""The order of the key by way of the disk is that of all words in memory."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.release.small_releases import known_key

from deniable.plans import make_plan
from deniable.records import Attribute, Domain, Microdata
from deniable.release.planned import ordering, protect
from deniable.responses import ProtectedFormat
from deniable.sampling import KeyedDraws, Words, by_words
from deniable.schema import schema_from

DOMAIN = Domain((Attribute("a", ("x", "y", "z")), Attribute("b", tuple(map(str, range(300))))))
DRAWS = KeyedDraws(bytes(range(32)), b"plan")
GROUP = 64
Drawn = list[tuple[Microdata, Mapping[str, pa.Array]]]


class FewWords(KeyedDraws):
    """Draws whose words tie: first ones have two leading bits alone, second ones one bit."""

    def order_words(self, records: range) -> Words:
        return super().order_words(records) & np.array([3 << 62, 1], dtype=np.uint64)


def portions(records: int, rows: int) -> Drawn:
    rng = np.random.default_rng(1)
    whole = Microdata(DOMAIN, (rng.integers(0, 3, records), rng.integers(0, 300, records)))
    texts = pa.array([None if i % 7 == 3 else f"person {i}" for i in range(records)], pa.string())
    weights = pa.array(rng.uniform(size=records))
    parts = [slice(start, start + rows) for start in range(0, records, rows)]
    return [
        (whole.take(np.arange(records)[part]), {"0": texts[part], "b": weights[part]})
        for part in parts
    ]


def joined(drawn: Drawn) -> tuple[list[list[int]], list[pa.Array]]:
    columns = [np.concatenate([own.column(name) for own, _ in drawn]) for name in DOMAIN.names]
    passed = [pa.chunked_array([given[name] for _, given in drawn]) for name in ("0", "b")]
    return [each.tolist() for each in columns], [each.to_pylist() for each in passed]


@pytest.mark.parametrize("draws", [DRAWS, FewWords(DRAWS.key, DRAWS.plan)])
@pytest.mark.parametrize(
    ("records", "rows"), [(1, 1), (GROUP, 10), (GROUP + 1, GROUP), (1000, 130), (5000, GROUP)]
)
def test_all_stand_where_the_order_of_all_words_has_them(
    records: int,
    rows: int,
    draws: KeyedDraws,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ordering, "GROUP", GROUP)
    drawn = portions(records, rows)
    made = list(ordering.in_order_of_key(iter(drawn), draws, records, tmp_path))
    columns, passed = joined(drawn)
    order = draws.order(records).tolist()
    assert joined(made) == tuple([[own[i] for i in order] for own in each]
                                 for each in (columns, passed))  # fmt: skip
    assert not list(tmp_path.iterdir())
    if draws is DRAWS:  # at 64 to a part, four times as many are beyond all chance
        assert max(len(own) for own, _ in made) < 4 * GROUP


def test_words_order_by_the_first_then_the_second_then_as_they_stand() -> None:
    words = np.array([[2**63, 0], [1, 2**63], [1, 5], [0, 9], [1, 5]], dtype=np.uint64)
    assert by_words(words).tolist() == [3, 2, 4, 1, 0]


def test_nothing_of_the_true_order_stays_if_the_draw_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither on the way into the parts nor out of them; and the scratch is its owner's alone."""
    schema = schema_from(
        {"format": "deniable-schema", "version": 1, "population": "people"}
        | {"file": {"kind": "arrow"}}
        | {"columns": [{"name": "a", "kind": "categorical", "categories": ["x", "y"]}]}
    )
    plan, table = make_plan(schema, 1.0), pa.table({"a": ["x", "y"] * 200})
    place = known_key(tmp_path / "keys", "made")
    monkeypatch.setattr(ordering, "GROUP", GROUP)
    seen: list[int] = []

    def broken(*given: object) -> Iterator[None]:
        (scratch,) = tmp_path.rglob(".order.*")
        seen.append(len(list(scratch.iterdir())))
        assert scratch.stat().st_mode & 0o777 == 0o700
        raise KeyboardInterrupt

    for where, name in (
        (ordering, "_read"),
        (ProtectedFormat, "arrays"),
        (ordering, "_put_by_part"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, broken)
            with pytest.raises(KeyboardInterrupt):
                protect(table, plan, tmp_path / "made", place=place)
        assert not list(tmp_path.rglob(".order.*"))
        assert not list(tmp_path.rglob(".draft.*"))
    assert seen == [8, 7, 0]
    protect(table, plan, tmp_path / "made", place=place)
    assert (tmp_path / "made" / "public").exists()
