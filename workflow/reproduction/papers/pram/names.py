"""Names of channels, mechanisms and claims in figures and on pages."""

CHANNELS = {
    "warner": "Warner, 2 categories",
    "generalized": "generalized RR, 16",
    "ordinal": "ordinal PRAM, 7",
    "product": "product of two, 12 cells",
    "near_singular": "near singular, 7",
    "neighbours": "neighbours only, 16",
}
METHODS = {"score": "score", "wald": "Wald"}
EVERY = "every category"
WITHIN = (0.94, 0.96)
MECHANISMS = {
    "randomized_response": "randomized response, (1.3)",
    "pram_given_parity": "PRAM with a fixed matrix of that parity, (1.3)",
    "invariant_two_step": "invariant, two steps, proportions",
    "invariant_lazy": "invariant, keep or redraw, proportions",
    "invariant_two_step_inverted": "invariant, two steps, inverted",
    "bound": "bound (2.6) of invariant PRAM",
}
INVARIANT_METHODS = {
    "two_step": "two steps",
    "lazy": "keep or redraw",
    "resampling": "redraw all",
    "two_step_fixed": "control: fixed matrix",
}
CLAIMS = {
    "multinomial": "randomization ignored",
    "fixed_matrix": "(1.3), matrix assumed fixed",
    "conditional": "owner's, (2.4) and sampling",
    "bound": "bound (2.6), matrix unknown",
}
JOINT_ESTIMATORS = {
    "separate": "a matrix per attribute, not inverted",
    "separate_inverted": "a matrix per attribute, inverted",
    "joint": "one matrix for the pair, not inverted",
}
DESIGNS = {  # the minimized loss and the requirements
    ("trace", "epsilon"): "sum of variances\nε alone",
    ("worst_cell", "epsilon"): "largest variance\nε alone",
    ("worst_cell", "epsilon, retention floor"): "largest variance\nε, least retention",
    ("trace", "epsilon, invariant"): "sum of variances\nε, invariant",
    ("trace", "epsilon, invariant, inverted"): "sum of variances\ninvariant, inverted",
    ("changed", "epsilon, invariant"): "changed values\nε, invariant",
    ("distance", "epsilon, invariant"): "ordinal distance\nε, invariant",
}
