"""Names of data sets, methods, measures and rules of [rrba] in figures and on pages."""

FILES = {
    "survey": "Survey",
    "alarm": "Alarm",
    "child": "Child",
    "survey_8000": "Survey",
    "survey_8000_resampled": "Survey, resampled",
    "alarm_8000": "Alarm",
    "child_8000": "Child",
}
STATED_EPSILON = 0.25  # of Table 3
PRINTED_TABLES = {"rrba_table4": "Table 4", "rrba_table5": "Table 5"}
EVERY = "all"  # instead of a set of attributes: the mean over sets
METHODS = {
    "rrba": "RRBA",
    "laplace": "Laplace, published scale",
    "laplace_honest": "Laplace, scale 2 / ε",
}
EQUAL_METHODS = {
    "rrba": "RRBA, floor .1 / m",
    "rrba_half_floor": "RRBA, floor .5 / m",
    "rrba_at_truth": "RRBA, p by the original table",
    "rrba_uniform": "table stays uniform",
    "randomized_response": "generalized randomized response",
    "projective_geometry": "projective geometry",
    "hadamard": "Hadamard response",
    "unary_encoding": "unary encoding",
    "laplace_honest": "Laplace, 2 / ε, trusted curator",
}
PROTOCOLS = ("projective_geometry", "hadamard", "unary_encoding")
"""The methods with other randomized values than cells."""
METRICS = {
    "l2": "l2 distance, records",
    "jensen_shannon": "Jensen-Shannon distance",
    "squared_error": "squared error",
    "chi_squared": "chi-squared",
}
CRITERIA = {
    ("printed", "first"): "published rule, first time",
    ("printed", "lasting"): "published rule, for good",
    ("projected", "lasting"): "published rule, for good, tables projected",
    ("pooled", "precise"): "pooled, as precise as 500 true answers",
}
UPDATES = {
    "printed": "published rule, blocks",
    "printed_first_version": "published rule, Algorithm 1",
    "projected": "each block, projected",
    "pooled": "pooled, projected",
    "uniform": "table stays uniform",
}
TESTS = {
    "rrba": "RRBA, table stays uniform",
    "channel_aware": "channel-aware",
    "mcindep": "MCIndep",
    "laplace": "Laplace, chi-squared limit, scale 2 / ε",
    "laplace_printed_scale": "Laplace, chi-squared limit, published scale",
    "laplace_true_limit": "Laplace, limit of the original table, scale 2 / ε",
    "laplace_true_limit_printed_scale": "Laplace, limit of the original table, published scale",
}
HYPOTHESES = {"H0": "independent, rejected", "H1": "dependent, rejected"}
UNDECIDED = "undecided"
SIZES = ("held", "held, conservative", "too large", UNDECIDED)  # decisions on the size of a test
RULES = {
    "table": "accepted if a cell of the table is below 5",
    "fitted": "accepted if an expected cell is below 5",
    "ignore": "no rule for small cells",
}
"""Interpretations of the rule in the text. It accepts every null in sparse tables, but according to
the text the test succeeds there."""
CONSISTENCY_METHODS = {
    "nearest": "each table alone",
    "l2": "all together, l2",
    "l1": "all together, l1",
}
KINDS = {
    "observed": "tables of the views",
    "in several": "smaller tables, in several views",
    "in none": "larger tables, in no view",
}
COMPARED = ("l2", "jensen_shannon")  # the measures of the paper
MAIN_READINGS = {
    **dict.fromkeys(("l2", "squared_error"), "noisy"),
    **dict.fromkeys(("jensen_shannon", "chi_squared"), "projected"),
}


def dataset_of(file: str) -> str:
    """Return the data set of a `file`: its name up to the first underscore."""
    return file.split("_", maxsplit=1)[0]
