"""DataFrames in and out of microdata, and through the mechanisms that take these."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from deniable.channels import KeepOrReplace
from deniable.errors import DataError
from deniable.idp import Ranking, masking
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain, Microdata, NumericMicrodata
from deniable.sampling import SeededNoise

FRAME = pd.DataFrame(
    {"sex": ["F", "M", "M", "F"], "rooms": [1, 3, 3, 2], "owner": [True, False, True, True]}
)


def test_categories_come_back_as_they_went_in() -> None:
    data = Microdata.of_frame(FRAME)
    assert data.domain.names == ("sex", "rooms", "owner")
    assert data.domain["owner"].categories == ("false", "true")
    back = data.to_frame()
    assert back["rooms"].tolist() == ["1", "3", "3", "2"]
    assert Microdata.of_frame(back, data.domain).column("sex").tolist() == [0, 1, 1, 0]
    assert Microdata.of_frame(FRAME.astype({"sex": "category"})).counts(["sex"]).tolist() == [2, 2]
    wider = Domain((Attribute("sex", ("M", "F", "X")),))
    assert Microdata.of_frame(FRAME, wider).counts().tolist() == [2, 2, 0]


def test_numbers_and_their_class_become_a_frame() -> None:
    frame = pd.DataFrame({"age": [17.5, 44, 30], "hours": [1.0, 2, 3], "sex": ["F", "M", "F"]})
    data = NumericMicrodata(("age", "hours"), frame.iloc[:, :2], "sex", ("F", "M"), [0, 1, 0])
    assert data.to_frame().astype({"sex": "str"}).to_dict() == frame.to_dict()


@pytest.mark.parametrize(
    ("frame", "domain", "said"),
    [
        ({"a": ["x", None]}, None, "record 2, column 'a' has a missing value"),
        ({"a": ["x", "y"]}, ("x",), "record 2, column 'a' has the unknown category 'y'"),
        ({"b": ["x"]}, ("x",), "no column 'a'; it has b"),
        ({"a": [1, "x"]}, None, "column 'a' does not have the type string"),
    ],
)
def test_frames_that_do_not_fit_are_refused(frame: dict, domain: tuple | None, said: str) -> None:
    own = Domain((Attribute("a", domain),)) if domain else None
    with pytest.raises(DataError, match=said):
        Microdata.of_frame(pd.DataFrame(frame), own)


def test_pram_within_strata_takes_and_gives_frames() -> None:
    data = Microdata.of_frame(pd.concat([FRAME] * 500, ignore_index=True))
    randomized = data.domain.project(["rooms", "owner"])
    one = Protocol(
        randomized,
        (("rooms",), ("owner",)),
        (KeepOrReplace.of_epsilon(3, 1.0), KeepOrReplace.of_epsilon(2, 1.0)),
    )
    protocol = StratifiedProtocol(data.domain, ("sex",), {("F",): one, ("M",): one})
    frame = protocol.randomize(data, np.random.default_rng(1)).to_frame()
    assert frame["sex"].tolist() == FRAME["sex"].tolist() * 500
    assert 0.4 < (frame["rooms"].astype(str) == data.to_frame()["rooms"].astype(str)).mean() < 0.8


def test_individual_privacy_takes_and_gives_frames() -> None:
    data = NumericMicrodata(("age",), np.arange(1.0, 41.0)[:, None])
    how = masking("idp_cbls", Ranking.of(data.values), 5, [100.0], 1.0)
    masked = replace(data, values=how.mask(SeededNoise(np.random.default_rng(2)))[0]).to_frame()
    assert list(masked) == ["age"]
    assert masked["age"].between(0, 100).all()
    assert masked["age"].nunique() <= 8
