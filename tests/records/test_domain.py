"""Attributes and their products."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.errors import DataError, DeniableError
from deniable.records.domain import Attribute, Domain, refuse_foreign_codes

SEX = Attribute("sex", ("Female", "Male"))
AGE = Attribute("age", ("young", "old", "very old"), "ordinal")
ONE = Attribute("planet", ("Earth",))


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(
            Attribute(f"a{i}", tuple(f"c{j}" for j in range(size))) for i, size in enumerate(sizes)
        )
    )


def test_attribute():
    assert (AGE.size, AGE.code_of("very old"), AGE.scale, SEX.scale) == (3, 2, "ordinal", "nominal")
    with pytest.raises(DataError, match=r"'sex' has no category 'male'; it has 'Female', 'Male'"):
        SEX.code_of("male")


@pytest.mark.parametrize(
    ("size", "code_type"),
    [(1, "u1"), (2, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")],
)
def test_code_type_is_the_smallest_that_holds_all_codes(size, code_type):
    attribute = domain_of(size).attributes[0]
    assert attribute.code_type == np.dtype(code_type)
    assert size - 1 <= np.iinfo(attribute.code_type).max


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", ("x",)), "has no name"),
        (("a", ()), "'a' has no categories"),
        (("a", ("x", "y", "x")), "'a' lists the category 'x' twice"),
        (("a", ("x",), "cardinal"), "'a' has the scale 'cardinal'; use 'nominal' or 'ordinal'"),
    ],
)
def test_what_is_no_attribute(arguments, message):
    with pytest.raises(DeniableError, match=message):
        Attribute(*arguments)


def test_domain():
    domain = Domain((SEX, AGE, ONE))
    assert (domain.names, domain.shape, domain.size) == (("sex", "age", "planet"), (2, 3, 1), 6)
    assert (len(domain), list(domain), domain["age"]) == (3, [SEX, AGE, ONE], AGE)
    assert domain.project(["age", "sex"]) == Domain((AGE, SEX))
    assert domain.position("planet") == 2
    for lookup in (domain.position, domain.__getitem__, lambda name: domain.project([name])):
        with pytest.raises(DataError, match=r"no attribute 'Sex'; there are 'sex', 'age', 'planet"):
            lookup("Sex")
    with pytest.raises(DeniableError, match="at least one attribute"):
        Domain(())
    with pytest.raises(DeniableError, match="lists the attribute 'sex' twice"):
        Domain((SEX, AGE, SEX))


def test_ravel_by_hand():
    # Cell of (sex, age) = 3 sex + age.
    domain = Domain((SEX, AGE))
    columns = (np.array([0, 1, 1], np.uint8), np.array([2, 0, 2], np.int16))
    joint = domain.ravel(columns)
    assert joint.tolist() == [2, 3, 5]
    assert joint.dtype == np.int64
    back = domain.unravel(joint)
    assert [c.tolist() for c in back] == [[0, 1, 1], [2, 0, 2]]
    assert [c.dtype for c in back] == [np.uint8, np.uint8]


@settings(deadline=None, max_examples=60, derandomize=True)
@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_unravel_undoes_ravel(sizes, seed):
    domain = domain_of(*sizes)
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(0, size, 50).astype(a.code_type) for size, a in zip(sizes, domain, strict=True)
    ]
    joint = domain.ravel(columns)
    np.testing.assert_array_equal(joint, np.ravel_multi_index(columns, domain.shape))
    for column, back in zip(columns, domain.unravel(joint), strict=True):
        np.testing.assert_array_equal(column, back)
        assert column.dtype == back.dtype


def test_the_largest_domain_that_can_be_ravelled():
    large = domain_of(*[2] * 62)
    last = [np.array([1])] * 62
    assert large.ravel(last).tolist() == [2**62 - 1]
    assert all(c.tolist() == [1] for c in large.unravel(np.array([2**62 - 1])))
    too_large = domain_of(*[2] * 63)
    for call in (lambda: too_large.ravel(last + last[:1]), lambda: too_large.unravel(last[0])):
        with pytest.raises(DeniableError, match=r"63 attributes have 9.22e\+18 joint cells"):
            call()


def test_ravel_refuses():
    domain = Domain((SEX, AGE))
    two, three = np.array([0, 1]), np.array([0, 1, 2])
    with pytest.raises(DeniableError, match="2 attributes, but 1 columns"):
        domain.ravel([two])
    for short in (three, np.array([0]), np.array(0)):  # no broadcasting of records
        with pytest.raises(DeniableError, match="differ in shape"):
            domain.ravel([two, short])
    with pytest.raises(DataError, match=r"attribute 'sex': the code 2 is outside 0 \.\. 1"):
        domain.ravel([three, three])
    with pytest.raises(DataError, match=r"the joint cells: the code 6 is outside 0 \.\. 5"):
        domain.unravel(np.array([6]))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u2"])
def test_foreign_codes_of_every_type(dtype):
    refuse_foreign_codes(np.array([0, 4, 2], dtype), 5, "here")
    refuse_foreign_codes(np.array([], dtype), 5, "here")
    refuse_foreign_codes(np.array([[0, 9, 4, 9, 1]], dtype)[:, ::2], 5, "here")
    with pytest.raises(DataError, match=r"^here: the code 5 is outside 0 \.\. 4; recode"):
        refuse_foreign_codes(np.array([0, 5], dtype), 5, "here")
    largest = np.iinfo(dtype).max
    with pytest.raises(DataError, match=f"the code {largest} is outside"):
        refuse_foreign_codes(np.array([0, largest], dtype), 5, "here")
    if np.dtype(dtype).kind == "i":
        for bad in (-1, np.iinfo(dtype).min):
            with pytest.raises(DataError, match=f"the code {bad} is outside"):
                refuse_foreign_codes(np.array([0, bad, 1], dtype), 5, "here")


@pytest.mark.parametrize("codes", [np.array([0.0]), np.array(["x"]), np.array([None])])
def test_codes_are_integers(codes):
    with pytest.raises(DataError, match=f"here: codes must be integers, not {codes.dtype}; encode"):
        refuse_foreign_codes(codes, 5, "here")
