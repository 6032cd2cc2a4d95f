"""Deniable: release microdata with provable deniability, and audit claims of privacy.

Import the names for your own programs from here. Each is loaded when it is first used:

- records: `Attribute`, `Domain`, `Discretization`, `Microdata`, `NumericMicrodata`,
  `read_true_records`
- your own file: `Schema`, `draft_schema`, `read_schema`, `schema_from_dict`, `RecordsFile`; `Plan`,
  `ColumnsPlan`, `StrataPlan`, `MaskedPlan`, `CollectedPlan`, `make_plan`, `plan_from_protocol`,
  `make_questionnaire`, `compare`, `expected_errors`, `epsilon_for`, `explore`, `read_plan`,
  `write_plan`, `verify_plan`; `protect`, in memory `randomize`; and estimates from a release:
  `Released`
- the process of an agency: `approve_plan`, `verify_release`, `withdraw_release`
- channels, which randomize answers: `Channel`, `KeepOrReplace`, `DenseChannel`, `ProductChannel`,
  `channel_to_json`, `channel_from_json`, `read_channel`, `write_channel`; `SystemRandomSource`,
  the source of random numbers for releases
- estimates: `maximum_likelihood`, `expectation_maximization`, `euclidean_projection`,
  `clip_and_rescale`, `confidence_intervals`; for survey weights `weighted_intervals`,
  `survey_estimate`
- privacy: `exact_epsilon`, `column_epsilon`, `audit_sampler`; breaches and amplification
  `find_breaches`, `largest_posterior`, `smallest_posterior`, `largest_parity`
- tables: `Independence`, `two_step_estimate`, `consistent_tables`, `channel_test`
- protocols: `protocol_from_epsilon`, `rr_independent`, `rr_joint`, `rr_clusters`,
  `cluster_attributes`, `adjust`, `audit_cluster`; for item sets `item_set_supports`,
  `rule_confidences`, `frequent_item_sets`; with messages between parties
  `Client`, `Aggregator`, `Server`, `run_rrba`
- optimized matrices: `Requirements` and `Cost`, for `deniable.design.design`
- errors: `DeniableError`, the base class of all others

The folders, lowest first: `deniable.records`, `deniable.sampling`,
`deniable.channels`, `deniable.schema`, `deniable.datasets`, `deniable.estimation`,
`deniable.privacy`, `deniable.design`, `deniable.contingency`, `deniable.randomized_response`,
`deniable.pram`, `deniable.idp`, `deniable.rrba`, `deniable.responses`, `deniable.plans`,
`deniable.release`, `deniable.analysis`. docs/architecture.md states their purposes.
"""

import lazy_loader

__version__ = "0.1.0"

# Without __all__: help() then shows the text above, not the manual of every name in it.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
