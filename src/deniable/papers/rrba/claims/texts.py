"""The claims of [rrba] that `deniable.papers.rrba.claims.decided` decides: printed and tested."""

from deniable.study import Claim

_INTRODUCTION, _PRIVACY, _CONVERGENCE = "1", "4.2", "7.2, Figures 5 and 6"
_TESTS, _DISTANCES = "7.3, Table 3", "7.4, Tables 4 and 5"

_ALL = (
    Claim(
        "two_coins_estimate",
        _INTRODUCTION,
        "With two fair coins the true number of Yes is accurately estimated by 2 (q - .25).",
        "the estimate of the expected reports is the truth, in fractions: 21 proportions",
    ),
    Claim(
        "two_coins_truthful",
        _INTRODUCTION,
        "Respondents give, on average, a correct response 75 % of the time.",
        "the chance of a correct response is 3/4 for both true answers, in fractions",
    ),
    Claim(
        "two_coins_epsilon",
        _INTRODUCTION,
        "The two coins provide a privacy budget of ln 3.",
        "the exact epsilon is ln 3 (Theorem 4.1 says ln 2 of the same protocol)",
    ),
    Claim(
        "repeating_degrades",
        _INTRODUCTION,
        "The level of privacy degrades if the survey is repeated by the same respondent.",
        "exact epsilon of 2 to 10 rounds above that of one; what RRBA's clients do again, too",
    ),
    Claim(
        "efficient_if_close",
        _INTRODUCTION,
        "The proportion is inferred more efficiently if q is close to the true one.",
        "variance with q = pi below that with q = 1/2, exact: pi of .02 to .4, p of .1 to .9; "
        "at equal exact epsilon: of .25 to 4",
    ),
    Claim(
        "joint_reconstructed",
        _INTRODUCTION,
        "The true joint probability can be reconstructed from the noisy values.",
        "equation (4) takes the expected reports to the truth, for tables of 2 to 16 cells, any "
        "distribution of fake answers, p of .1 to .9",
    ),
    Claim(
        "better_than_coins",
        _INTRODUCTION,
        "Adapting the fake answers keeps the privacy strong with a high utility: a better "
        "mechanism than fixed coins.",
        "equal exact epsilon: mean distance below that under a table that stays uniform, each "
        "file, k, epsilon; l2 and Jensen-Shannon of projected tables",
    ),
    Claim(
        "responses_teach_nothing",
        "1, 4.2",
        "An adversary with the responses, whatever else it knows, learns nothing with confidence.",
        "exact, p = .4 and .5, the client's table at the truth: an answer with a value of "
        "probability .01 to .25 raises that probability to at most twice as much (it becomes "
        "p + (1 - p) pi)",
    ),
    Claim(
        "theorem_4_1",
        _PRIVACY,
        "The protocol satisfies epsilon-differential privacy with epsilon = ln(1 / (1 - p)).",
        "exact epsilon of one answer about a uniform table at most that: p of .1 to .9, 2 to 16 "
        "cells",
    ),
    Claim(
        "independent_of_cells",
        _PRIVACY,
        "The privacy level is independent of the number of cells.",
        "exact epsilon of uniform tables of 4, 8, 16 cells that of 2 cells, p of .1 to .9",
    ),
    Claim(
        "independent_of_table",
        _PRIVACY,
        "It does not depend on q, the probability of the emitted value.",
        "exact epsilon of two cells with q = .4, .2, .05 that with q = .5, p of .1 to .9",
    ),
    Claim(
        "arbitrarily_low",
        _PRIVACY,
        "Decreasing p makes epsilon arbitrarily low.",
        "exact epsilon under the floor .1 / m falls with p, and p = 1e-6 gives less than .001; "
        "tables of 2 to 16 cells (without a floor it can be infinite for every p)",
    ),
    Claim(
        "low_p_slow",
        _PRIVACY,
        "With low p the convergence becomes slower.",
        "answers until the estimate is as precise as 500 true ones: more at each lower p, exact, "
        "cells of .0285 to .732, uniform table of 4 cells",
    ),
    Claim(
        "p_from_epsilon",
        _PRIVACY,
        "The values of p are derived from epsilon by p = 1 - exp(-epsilon).",
        "the printed pair agrees within half a unit of p's last digit (cut off, in Figure 6)",
    ),
    Claim(
        "alike_in_all_data",
        _CONVERGENCE,
        "The behaviour of convergence is similar in all three data sets.",
        "mean answers of any two data sets within a factor of 1.2, each cell, block size, p",
    ),
    Claim(
        "small_blocks_early",
        _CONVERGENCE,
        "Smaller blocks reach convergence earlier, for low and high probabilities.",
        "mean answers at each block size below those at the next larger one",
    ),
    Claim(
        "blocks_of_table_size_suffice",
        _CONVERGENCE,
        "A block size equal to the dimension of the table is sufficient.",
        "smallest block size: more than 90 % of runs end within the 95 % interval of 500 true "
        "answers around the truth",
    ),
    Claim(
        "none_at_small_p",
        _CONVERGENCE,
        "At p = .009, .048, .095 nothing converges.",
        "share of converged runs below one half, each cell and block size",
    ),
    Claim(
        "some_at_0.139",
        _CONVERGENCE,
        "At p = .139 the higher probabilities (.356, .446) converge with blocks of 150 and 250.",
        "share of converged runs above one half there; below for .072 and .116, and for 18 and 50",
    ),
    Claim(
        "large_blocks_at_0.221",
        _CONVERGENCE,
        "At p = .221 all probabilities converge with blocks of 150 and 250, none with 18 and 50.",
        "share of converged runs above one half, and below",
    ),
    Claim(
        "large_blocks_at_0.295",
        _CONVERGENCE,
        "The same is observed at p = .295.",
        "share of converged runs above one half, and below",
    ),
    Claim(
        "smaller_p_larger_blocks",
        _CONVERGENCE,
        "A smaller p needs larger blocks; a higher one converges at smaller blocks.",
        "smallest block size with half of the runs converged: smaller at each higher p, each cell",
    ),
    Claim(
        "accuracy_printed",
        _TESTS,
        "RRBA's tests are right in 96.5, 94 and 93.5 % of trials (k = 2, 3, 4).",
        "each k: under some n and effect both printed rates of rejection agree",
    ),
    Claim(
        "more_accurate_than_mcindep",
        _TESTS,
        "RRBA's accuracy is better than MCIndep's.",
        "accuracy (half of the trials a null) above, each k, n, effect",
    ),
    Claim(
        "more_accurate_than_laplace",
        _TESTS,
        "RRBA's accuracy is better than that of Laplace noise.",
        "accuracy above, each k, n, effect; both scales of the noise",
    ),
    Claim(
        "robust_as_values_grow",
        _TESTS,
        "As the number of values increases, the protocol is more robust than the others.",
        "accuracy lost between the smallest and the largest k below MCIndep's loss, each n, effect",
    ),
    Claim(
        "robust_in_sparse_data",
        _TESTS,
        "It is robust in sparse data, where Laplace and MCIndep give no valid results.",
        "fewer than 25 records a cell: accuracy above 75 % and above MCIndep's",
    ),
    Claim(
        "as_powerful_at_equal_epsilon",
        _TESTS,
        "RRBA's test is better than MCIndep's.",
        "equal exact epsilon: power above MCIndep's (which has a trusted curator) and above that "
        "of the channel-aware test",
    ),
    Claim(
        "lowest_l2_survey_child",
        _DISTANCES,
        "RRBA has the lowest mean l2 on Survey and Child (Tables 4 and 5 are of Survey and Alarm).",
        "mean l2 below that of Laplace noise: Survey and Child, each k, p",
    ),
    Claim(
        "wins_in_high_dimensions",
        _DISTANCES,
        "With p = .4 and epsilon = .35 it has the lowest distance on tables of higher dimension.",
        "mean l2 below that of Laplace noise at p = .4, k = 3, 4, each data set",
    ),
    Claim(
        "wins_everywhere_at_half",
        _DISTANCES,
        "With p = .5 and epsilon = .5 it wins on all contingency tables.",
        "mean l2 below that of Laplace noise at p = .5, each data set and k",
    ),
    Claim(
        "lower_jensen_shannon",
        _DISTANCES,
        "It has a lower Jensen-Shannon distance than Laplace noise.",
        "mean of projected tables below, each data set, k, p",
    ),
    Claim(
        "wins_over_laplace",
        _DISTANCES,
        "RRBA wins over Laplace noise while it ensures epsilon-differential privacy.",
        "equal exact epsilon, honest scale: l2 and Jensen-Shannon below, each file, k, epsilon",
    ),
    Claim(
        "printed_numbers",
        _DISTANCES,
        "The numbers of Tables 4 and 5.",
        "each printed cell agrees with the mean over sets of attributes; any set: with that of at "
        "least one set",
    ),
)

CLAIMS = {claim.id: claim for claim in _ALL}
"""By id, in the order of the text."""
