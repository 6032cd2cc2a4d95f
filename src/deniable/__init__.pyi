from . import (
    analysis as analysis,
    channels as channels,
    contingency as contingency,
    datasets as datasets,
    design as design,
    estimation as estimation,
    idp as idp,
    plans as plans,
    pram as pram,
    privacy as privacy,
    randomized_response as randomized_response,
    records as records,
    rrba as rrba,
    sampling as sampling,
    schema as schema,
)
from .analysis import Released as Released
from .channels import (
    Channel as Channel,
    DenseChannel as DenseChannel,
    KeepOrReplace as KeepOrReplace,
    ProductChannel as ProductChannel,
    channel_from_json as channel_from_json,
    channel_to_json as channel_to_json,
    read_channel as read_channel,
    write_channel as write_channel,
)
from .contingency import (
    Independence as Independence,
    channel_test as channel_test,
    consistent_tables as consistent_tables,
    two_step_estimate as two_step_estimate,
)
from .design import Cost as Cost, Requirements as Requirements
from .errors import DeniableError as DeniableError
from .estimation import (
    clip_and_rescale as clip_and_rescale,
    confidence_intervals as confidence_intervals,
    euclidean_projection as euclidean_projection,
    expectation_maximization as expectation_maximization,
    maximum_likelihood as maximum_likelihood,
    survey_estimate as survey_estimate,
    weighted_intervals as weighted_intervals,
)
from .plans import (
    CollectedPlan as CollectedPlan,
    ColumnsPlan as ColumnsPlan,
    MaskedPlan as MaskedPlan,
    Plan as Plan,
    StrataPlan as StrataPlan,
    compare as compare,
    epsilon_for as epsilon_for,
    expected_errors as expected_errors,
    explore as explore,
    make_plan as make_plan,
    make_questionnaire as make_questionnaire,
    plan_from_protocol as plan_from_protocol,
    randomize as randomize,
    read_plan as read_plan,
    verify_plan as verify_plan,
    write_plan as write_plan,
)
from .pram import (
    frequent_item_sets as frequent_item_sets,
    item_set_supports as item_set_supports,
    rule_confidences as rule_confidences,
)
from .privacy import (
    audit_sampler as audit_sampler,
    column_epsilon as column_epsilon,
    exact_epsilon as exact_epsilon,
    find_breaches as find_breaches,
    largest_parity as largest_parity,
    largest_posterior as largest_posterior,
    smallest_posterior as smallest_posterior,
)
from .randomized_response import (
    adjust as adjust,
    audit_cluster as audit_cluster,
    cluster_attributes as cluster_attributes,
    protocol_from_epsilon as protocol_from_epsilon,
    rr_clusters as rr_clusters,
    rr_independent as rr_independent,
    rr_joint as rr_joint,
)
from .records import (
    Attribute as Attribute,
    Discretization as Discretization,
    Domain as Domain,
    Microdata as Microdata,
    NumericMicrodata as NumericMicrodata,
    read_true_records as read_true_records,
)
from .release import (
    approve_plan as approve_plan,
    protect as protect,
    verify_release as verify_release,
    withdraw_release as withdraw_release,
)
from .rrba import (
    Aggregator as Aggregator,
    Client as Client,
    Server as Server,
    run_rrba as run_rrba,
)
from .sampling import SystemRandomSource as SystemRandomSource
from .schema import (
    RecordsFile as RecordsFile,
    Schema as Schema,
    draft_schema as draft_schema,
    read_schema as read_schema,
    schema_from_dict as schema_from_dict,
)

__version__: str
