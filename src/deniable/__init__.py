"""Deniable: microdata released with provable deniability, and the privacy claimed, audited.

Names that a program of one's own needs come from here, and are loaded when they are first used:

- records: `Attribute`, `Domain`, `Microdata`, `NumericMicrodata`, `Discretization`, `discretize`,
  `read_csv`, `read_parquet`
- a file of one's own: `Schema`, `draft_schema`, `read_schema`, `schema_from_dict`, `RecordsFile`;
  `Plan`, `ColumnsPlan`, `StrataPlan`, `MaskedPlan`, `CollectedPlan`, `make_plan`,
  `plan_from_protocol`, `compare`, `read_plan`, `write_plan`, `verify_plan`; `protect`, in memory
  `randomize`; and what was released: `Released`
- channels: `Channel`, `KeepOrReplace`, `DenseChannel`, `ProductChannel`, `channel_to_json`,
  `channel_from_json`, `read_channel`, `write_channel`; `SystemRandomSource`, the source of
  random numbers of releases
- estimates: `maximum_likelihood`, `expectation_maximization`, `euclidean_projection`,
  `clip_and_rescale`, `confidence_intervals`; for survey weights `weighted_intervals`,
  `survey_estimate`
- privacy: `exact_epsilon`, `column_epsilon`, `audit_sampler`; breaches and amplification
  `find_breaches`, `posterior_of_set`, `largest_posterior`, `smallest_posterior`,
  `largest_parity`, `rules_out_breach`, `is_beta_factor_private`
- tables: `LogLinearModel`, `two_step_estimate`, `consistent_tables`, `channel_test`
- protocols: `protocol_from_epsilon`, `rr_independent`, `rr_joint`, `rr_clusters`,
  `cluster_attributes`, `adjust`, `audit_attribute`, `audit_cluster`; of item sets
  `item_set_supports`, `rule_confidences`, `frequent_item_sets`; by message `Client`,
  `Aggregator`, `Server`, `run_rrba`
- the best channel for a need: `Requirements` and `Cost`, for `deniable.design.design`
- faults: `DeniableError`, what all others are kinds of

The folders, ground first; what each hands on stands in its stub:

- `deniable.records`: attributes and domains; coded and numeric microdata; their files
- `deniable.sampling`: where chance comes from, exact draws, Laplace noise
- `deniable.channels`: randomization matrices: draws, estimates, epsilon; as JSON and CSV
- `deniable.schema`: what a file of one's own holds
- `deniable.responses`: protected records as estimators read them
- `deniable.plans`: what is done to each of its columns, at an exact epsilon of the record
- `deniable.analysis`: estimates from what was released, and from nothing else
- `deniable.estimation`: from reports to distributions, intervals, survey weights, errors
- `deniable.privacy`: claimed against exact epsilon; breaches, amplification, linkage
- `deniable.contingency`: log-linear models, consistent tables, tests that know the channel
- `deniable.randomized_response`: RR-Independent, -Joint, -Clusters, -Adjustment, secure sum
- `deniable.pram`: post-randomization of a file within strata; matrices; item sets
- `deniable.idp`: individual differential privacy by microaggregation, and its audit
- `deniable.rrba`: randomized response block aggregation: clients, aggregator, server
- `deniable.design`: the best channel for stated requirements
- `deniable.datasets`: the data sets of the papers, downloaded or drawn
- `deniable.release`: releases, drawn once by a key from the operating system
"""

import lazy_loader

__version__ = "0.1.0"

# Without __all__: help() then shows the text above, not the manual of every name in it.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
