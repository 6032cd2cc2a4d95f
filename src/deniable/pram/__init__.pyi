from .item_sets import (
    MAX_SET as MAX_SET,
    Transactions as Transactions,
    frequent_item_sets as frequent_item_sets,
    item_set_supports as item_set_supports,
    rule_confidences as rule_confidences,
)
from .matrices import (
    Method as Method,
    channel_of_retention as channel_of_retention,
    matrix_from_file as matrix_from_file,
    pram_matrix as pram_matrix,
    whole_file_epsilon as whole_file_epsilon,
)
from .protocol import (
    StratifiedProtocol as StratifiedProtocol,
    Stratum as Stratum,
    margins as margins,
    parts_by_stratum as parts_by_stratum,
    randomized_domain as randomized_domain,
    shares as shares,
)
