from .allocation import (
    Allocation as Allocation,
    allocate as allocate,
    allocate_by_size as allocate_by_size,
)
from .amplification import (
    Side as Side,
    channel_of_parity as channel_of_parity,
    largest_parity as largest_parity,
    largest_posterior as largest_posterior,
    prior_approaching_parity as prior_approaching_parity,
    smallest_posterior as smallest_posterior,
    witness as witness,
)
from .audit import (
    FLOAT_TOLERANCE as FLOAT_TOLERANCE,
    Finding as Finding,
    Matrix as Matrix,
    SamplerTest as SamplerTest,
    audit_sampler as audit_sampler,
    cells_differing_in_one_attribute as cells_differing_in_one_attribute,
    column_epsilon as column_epsilon,
    constant_matrix as constant_matrix,
    epsilon_of_ratio as epsilon_of_ratio,
    exact_epsilon as exact_epsilon,
    largest_ratio as largest_ratio,
    whole_weights as whole_weights,
)
from .breaches import (
    Factor as Factor,
    WorstSet as WorstSet,
    extreme_factors as extreme_factors,
    find_breaches as find_breaches,
    worst_set as worst_set,
)
from .requirement import (
    PrivacyOptions as PrivacyOptions,
    Requirement as Requirement,
    Unit as Unit,
    parity_of_breach as parity_of_breach,
)
from .shuffling import (
    default_delta as default_delta,
    shuffled_epsilon as shuffled_epsilon,
    shuffled_guarantee as shuffled_guarantee,
)
