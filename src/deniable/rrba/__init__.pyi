from .client import (
    Answer as Answer,
    BlockReport as BlockReport,
    Client as Client,
    Question as Question,
    Refusal as Refusal,
    refuse_repeated as refuse_repeated,
)
from .collection import (
    TableAnswers as TableAnswers,
    answers_by_table as answers_by_table,
    collect_answers as collect_answers,
    collected_reports as collected_reports,
    refuse_impossible as refuse_impossible,
    rows_by_table as rows_by_table,
)
from .messages import Agreement as Agreement
from .privacy import (
    answer_epsilon as answer_epsilon,
    claimed_epsilon as claimed_epsilon,
    floor_epsilon as floor_epsilon,
    keep_for_epsilon as keep_for_epsilon,
    retention_from_claim as retention_from_claim,
    variance_inflation as variance_inflation,
    view_epsilon as view_epsilon,
)
from .protocol import (
    Aggregator as Aggregator,
    Collection as Collection,
    Server as Server,
    block_sizes as block_sizes,
    collect as collect,
    run_rrba as run_rrba,
    sampled_blocks as sampled_blocks,
    split_blocks as split_blocks,
)
from .questions import (
    FLOOR_ROUNDING as FLOOR_ROUNDING,
    SEPARATOR as SEPARATOR,
    AnswersOfClient as AnswersOfClient,
    CollectedTable as CollectedTable,
    CollectionDesign as CollectionDesign,
    Update as Update,
    design_collection as design_collection,
    guaranteed as guaranteed,
    keep_for_record as keep_for_record,
    section_5_block as section_5_block,
)
from .tables import (
    DIVERGENCE_THRESHOLD as DIVERGENCE_THRESHOLD,
    POOLED as POOLED,
    PRINTED as PRINTED,
    PRINTED_FIRST_VERSION as PRINTED_FIRST_VERSION,
    Rule as Rule,
    TableState as TableState,
    checked_counts as checked_counts,
    floored_projection as floored_projection,
    printed_estimate as printed_estimate,
    table_channel as table_channel,
)
from .views import (
    Combination as Combination,
    View as View,
    fewest_views as fewest_views,
    make_views as make_views,
)
