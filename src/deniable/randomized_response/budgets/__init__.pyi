from .comparison import compare_budgets as compare_budgets
from .estimates import (
    TableEstimate as TableEstimate,
    estimate_table as estimate_table,
    planned_variances as planned_variances,
)
from .makers import (
    protocol_of_epsilon as protocol_of_epsilon,
    sample_attribute as sample_attribute,
    share_pairs as share_pairs,
    split_clusters as split_clusters,
    split_record as split_record,
)
from .plan import (
    Group as Group,
    Question as Question,
    QuestionPlan as QuestionPlan,
    Reports as Reports,
)
from .splitting import (
    ChannelOf as ChannelOf,
    How as How,
    mean_variance as mean_variance,
    split_budget as split_budget,
)
