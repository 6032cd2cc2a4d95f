"""Names of data sets, methods, measures and rules of [rrba], in figures and on the page."""

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
EVERY = "all"  # in the place of a set of attributes: the mean over sets
METHODS = {
    "rrba": "RRBA",
    "laplace": "Laplace, scale as printed",
    "laplace_honest": "Laplace, honest scale",
}
EQUAL_METHODS = {
    "rrba": "RRBA, floor .1 / m",
    "rrba_half_floor": "RRBA, floor .5 / m",
    "rrba_at_truth": "RRBA, p that the true table allows",
    "rrba_uniform": "table stays uniform",
    "randomized_response": "generalized randomized response",
    "projective_geometry": "projective geometry",
    "hadamard": "Hadamard response",
    "unary_encoding": "unary encoding",
    "laplace_honest": "Laplace, 2 / ε, trusted curator",
}
PROTOCOLS = ("projective_geometry", "hadamard", "unary_encoding")
"""The methods with other responses than cells."""
METRICS = {
    "l2": "l2 distance, records",
    "jensen_shannon": "Jensen-Shannon distance",
    "squared_error": "squared error",
    "chi_squared": "chi-squared",
}
CRITERIA = {
    ("printed", "first"): "printed rule, first time",
    ("printed", "lasting"): "printed rule, for good",
    ("projected", "lasting"): "printed rule, for good, tables projected",
    ("pooled", "precise"): "pooled, as precise as 500 true answers",
}
UPDATES = {
    "printed": "as printed, blocks",
    "printed_first_version": "as printed, Algorithm 1",
    "projected": "each block, projected",
    "pooled": "pooled, projected",
    "uniform": "table stays uniform",
}
TESTS = {
    "rrba": "RRBA, table stays uniform",
    "channel_aware": "channel-aware",
    "mcindep": "MCIndep",
    "laplace": "Laplace, chi-squared limit, honest scale",
    "laplace_printed_scale": "Laplace, chi-squared limit, scale as printed",
    "laplace_true_limit": "Laplace, limit of the true table, honest scale",
    "laplace_true_limit_printed_scale": "Laplace, limit of the true table, scale as printed",
}
HYPOTHESES = {"H0": "independent, rejected", "H1": "dependent, rejected"}
UNDECIDED = "undecided"
SIZES = ("held", "held, conservative", "too large", UNDECIDED)  # decisions on the size of a test
RULES = {
    "table": "accepted if a cell of the table is below 5",
    "fitted": "accepted if an expected cell is below 5",
    "ignore": "no rule for small cells",
}
"""Interpretations of the text's rule. It accepts every null in sparse tables, but the text says
that its test succeeds there."""
CONSISTENCY_METHODS = {
    "nearest": "each table alone",
    "l2": "all together, l2",
    "l1": "all together, l1",
}
KINDS = {
    "observed": "the views' own tables",
    "in several": "smaller tables, in several views",
    "in none": "larger tables, in no view",
}
COMPARED = ("l2", "jensen_shannon")  # the measures of the paper
MAIN_READINGS = {
    "l2": "noisy",
    "squared_error": "noisy",
    "jensen_shannon": "projected",
    "chi_squared": "projected",
}


def dataset_of(file: str) -> str:
    """Return the data set of a `file`: its name up to the first underscore."""
    return file.split("_", maxsplit=1)[0]
