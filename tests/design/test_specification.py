"""Specifications in YAML: what is read, and a line for each fault."""

import numpy as np
import pytest

from deniable.design import design
from deniable.design.specification import read_specification
from deniable.errors import ConfigError, DeniableError

WHOLE = """
proportions: {low: 0.5, middle: 0.3, high: 0.2}
records: 1000
loss: distance
requirements:
  epsilon: 1.5
  invariant: true
  retention: {low: 0.4}
  change: 0.05
  forbidden: []
  cost: {power: 1, at_most: 0.9}
"""


@pytest.fixture
def written(tmp_path):
    """Write a specification and return its path."""

    def write(text):
        path = tmp_path / "spec.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_whole_specification(written):
    found = read_specification(written(WHOLE))
    assert found.categories == ("low", "middle", "high")
    np.testing.assert_allclose(found.proportions, [0.5, 0.3, 0.2])
    assert (found.loss, found.records) == ("distance", 1000)
    assert found.estimator is found.target is None
    asked = found.requirements
    assert (asked.epsilon, asked.invariant) == (1.5, True)
    assert asked.retention == {0: 0.4}
    assert asked.change == 0.05
    assert asked.categories == found.categories
    assert (asked.cost.power, asked.cost.at_most) == (1, 0.9)
    made = design(found.proportions, asked, found.loss)
    assert made.optimality == "global"
    # |u - v| from low to high: the cost of a record is that of its steps.
    P = made.channel.matrix()
    steps = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert made.loss == pytest.approx(np.sum(found.proportions[:, None] * P * steps))
    assert made.loss <= 0.9 + 1e-9


def test_transitions_by_name(written):
    text = """
    categories: [a, b, c]
    proportions: [0.5, 0.3, 0.2]
    requirements:
      change: 0.1
      forbidden: [[a, c]]
      allowed: {b: [a]}
      cost: {matrix: [[0, 1, 2], [1, 0, 1], [2, 1, 0]]}
    """
    asked = read_specification(written(text)).requirements
    assert asked.forbidden == ((0, 2),)
    assert asked.allowed == {1: [0]}
    assert asked.zeros(3) == {(0, 2): "forbidden", (1, 2): "allowed"}
    assert asked.cost.costs(3)[0, 2] == 2


def test_counts_of_a_file_and_of_the_specification(written, tmp_path):
    (tmp_path / "counts.csv").write_text("category,count\nno,60\nyes,40\n", encoding="utf-8")
    named = read_specification(written("counts: counts.csv\nrequirements: {epsilon: 1}"))
    assert named.categories == ("no", "yes")
    np.testing.assert_allclose(named.proportions, [0.6, 0.4])
    assert named.records == 100
    inline = read_specification(written("counts: {'no': 60, 'yes': 40}\nrecords: 7"))
    np.testing.assert_allclose(inline.proportions, [0.6, 0.4])
    assert inline.records == 7


@pytest.mark.parametrize("reports", ["any", "square"])
def test_numbers_of_reports(written, reports):
    text = f"proportions: {{a: 0.5, b: 0.3, c: 0.2}}\nreports: {reports}"
    assert read_specification(written(text)).reports == reports


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no options"),
        ("- a", "no options"),
        ("a: [", "line 1: did not find expected node content"),
        ("proportions: {a: 0.5, b: 0.5}\nlos: trace", "los: unknown option; allowed here: categor"),
        ("proportions: {a: 0.5, b: 0.5}\nrequirements: {eps: 1}", "requirements.eps: unknown opt"),
        ("proportions: {a: 0.5, b: 0.5}\nreports: many", "reports: 'many'; allowed:"),
        ("proportions: {a: 0.5, b: 0.5}\nreports: 5", "reports: 5; allowed:"),
        ("proportions: {a: 0.5, b: 0.5}\nloss: variance", "loss: 'variance'; allowed: trace"),
        ("proportions: {a: 0.5, b: 0.5}\nrecords: 0", "records: 0; allowed: at least 1"),
        ("proportions: {a: 0.5, b: 0.5}\nrecords: 1.5", "records: 1.5; allowed: a whole number"),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {epsilon: high}",
            "requirements.epsilon: 'high'; allowed: a number",
        ),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {epsilon: -1}",
            "requirements.epsilon: -1; allowed: at least 0",
        ),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {invariant: 1}",
            "requirements.invariant: 1; allowed: true or false",
        ),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {retention: {c: 0.5}}",
            "requirements.retention.c: no such category; there are a, b",
        ),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {retention: {a: 1.5}}",
            "retention.a: 1.5; allowed: at most 1",
        ),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {forbidden: [[a, c]]}",
            "requirements.forbidden[0]: 'c', no such category; there are a, b",
        ),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {forbidden: [[a]]}",
            "a forbidden transition is [true category, reported category]",
        ),
        (
            "proportions: {a: 0.5, b: 0.5}\nrequirements: {allowed: {a: [c]}}",
            "requirements.allowed.a: 'c', no such category",
        ),
        ("proportions: {a: 0.5, b: 0.4}", "proportions: they sum to 0.9; allowed: sum 1"),
        ("proportions: [0.5, 0.5]", "categories: missing"),
        ("proportions: [0.5, 0.5]\ncategories: [a]", "2 numbers for 1 categories"),
        ("categories: [a, b]\nproportions: {a: 1}", "nothing for the category 'b'"),
        ("categories: [a]\nproportions: {a: 1, b: 0}", "proportions.b: no such category"),
        ("categories: [a, a]\nproportions: [0.5, 0.5]", "categories[1]: 'a' is repeated"),
        ("categories: [a, b]", "neither of proportions and counts"),
        ("proportions: {a: 1}\ncounts: {a: 3}", "both of proportions and counts"),
        ("counts: {a: 0, b: 0}", "counts: all are 0"),
        ("proportions: {a: 0.5, a: 0.5}", "line 1: a is given a second time"),
        ("proportions: {a: 1}\nloss: distance", "requirements.cost: missing"),
        ("proportions: {a: 1}\nrequirements: {cost: {}}", "neither of matrix and power"),
        ("proportions: {a: 1}\nrequirements: {cost: {matrix: [[0, 1]]}}", "has shape"),
        ("proportions: {yes: 0.5, no: 0.5}", "in quotes: YAML reads yes and no as true and false"),
        ("proportions: {1: 0.5, 2: 0.5}", "in quotes if it looks like a number"),
    ],
)
def test_faults(written, text, fault):
    with pytest.raises(ConfigError) as caught:
        read_specification(written(text))
    assert fault in str(caught.value)
    assert "spec.yaml" in str(caught.value)


def test_every_fault_has_a_line(written):
    text = "proportions: {a: 0.5, b: 0.5}\nlos: x\nloss: y\nrequirements: {epsilon: z}"
    with pytest.raises(ConfigError) as caught:
        read_specification(written(text))
    message = str(caught.value)
    assert "the specification has 3 errors (docs/optimized-matrices.md" in message
    assert len(message.splitlines()) == 4


def test_files_that_cannot_be_read(written, tmp_path):
    with pytest.raises(ConfigError, match=r"missing\.yaml: No such file"):
        read_specification(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"proportions: {\xe9: 1}")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        read_specification(tmp_path / "latin.yaml")
    with pytest.raises(DeniableError, match=r"none\.csv"):
        read_specification(written("counts: none.csv"))
