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
    "invariant_two_step": "invariant, two steps, shares",
    "invariant_lazy": "invariant, keep or redraw, shares",
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
    "multinomial": "responses taken for data",
    "fixed_matrix": "(1.3), matrix taken as fixed",
    "conditional": "owner's, (2.4) and sampling",
    "bound": "bound (2.6), matrix unknown",
}
JOINT_ESTIMATORS = {
    "separate": "a matrix per attribute, responses as data",
    "separate_inverted": "a matrix per attribute, inverted",
    "joint": "one matrix for the pair, responses as data",
}
LOSSES = {
    "trace": "sum of variances",
    "worst_cell": "largest variance",
    "changed": "changed values",
    "distance": "ordinal distance",
}
REQUIREMENTS = {
    "epsilon": "ε alone",
    "epsilon, retention floor": "ε, least retention",
    "epsilon, invariant": "ε, invariant",
    "epsilon, invariant, inverted": "invariant, inverted",
}


def design(loss: str, requirements: str) -> str:
    """Return a `loss` that is minimized and its `requirements` in words, on two lines."""
    return f"{LOSSES[loss]}\n{REQUIREMENTS.get(requirements, requirements)}"
