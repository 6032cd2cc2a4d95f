from . import (
    channels as channels,
    contingency as contingency,
    datasets as datasets,
    design as design,
    estimation as estimation,
    idp as idp,
    pram as pram,
    privacy as privacy,
    randomized_response as randomized_response,
    records as records,
    rrba as rrba,
    sampling as sampling,
)
from .channels.base import Channel as Channel
from .channels.dense import DenseChannel as DenseChannel
from .channels.files import (
    channel_from_json as channel_from_json,
    channel_to_json as channel_to_json,
    read_channel as read_channel,
    write_channel as write_channel,
)
from .channels.keep_or_replace import KeepOrReplace as KeepOrReplace
from .channels.product import ProductChannel as ProductChannel
from .contingency.consistency import consistent_tables as consistent_tables
from .contingency.independence import channel_test as channel_test
from .contingency.log_linear import LogLinearModel as LogLinearModel
from .contingency.two_step import two_step_estimate as two_step_estimate
from .design.programs.requirements import Cost as Cost, Requirements as Requirements
from .errors import DeniableError as DeniableError
from .estimation.intervals import confidence_intervals as confidence_intervals
from .estimation.likelihood import (
    expectation_maximization as expectation_maximization,
    maximum_likelihood as maximum_likelihood,
)
from .estimation.simplex import (
    clip_and_rescale as clip_and_rescale,
    euclidean_projection as euclidean_projection,
)
from .estimation.survey_weights import (
    survey_estimate as survey_estimate,
    weighted_intervals as weighted_intervals,
)
from .pram.item_sets import (
    frequent_item_sets as frequent_item_sets,
    item_set_supports as item_set_supports,
    rule_confidences as rule_confidences,
)
from .privacy.amplification import (
    guarantees_factor as guarantees_factor,
    guarantees_no_breach as guarantees_no_breach,
    largest_parity as largest_parity,
    largest_posterior as largest_posterior,
    smallest_posterior as smallest_posterior,
)
from .privacy.audit import (
    audit_sampler as audit_sampler,
    column_epsilon as column_epsilon,
    exact_epsilon as exact_epsilon,
)
from .privacy.breaches import breach as breach, posterior_of_set as posterior_of_set
from .randomized_response.adjustment import adjust as adjust
from .randomized_response.audit import (
    audit_attribute as audit_attribute,
    audit_cluster as audit_cluster,
)
from .randomized_response.dependence import cluster_attributes as cluster_attributes
from .randomized_response.protocols import (
    rr_clusters as rr_clusters,
    rr_independent as rr_independent,
    rr_joint as rr_joint,
)
from .records.categorical import (
    Microdata as Microdata,
    discretize as discretize,
    read_csv as read_csv,
    read_parquet as read_parquet,
)
from .records.discretization import Discretization as Discretization
from .records.domain import Attribute as Attribute, Domain as Domain
from .records.numeric import NumericMicrodata as NumericMicrodata
from .rrba.client import Client as Client
from .rrba.protocol import Aggregator as Aggregator, Server as Server, run_protocol as run_protocol
from .sampling import SystemSource as SystemSource

__version__: str
