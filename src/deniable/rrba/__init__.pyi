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
)
from .messages import Agreement as Agreement
from .protocol import (
    Aggregator as Aggregator,
    Collection as Collection,
    Server as Server,
    collect as collect,
    run_rrba as run_rrba,
    split_blocks as split_blocks,
)
from .questions import (
    FLOOR_ROUNDING as FLOOR_ROUNDING,
    SEPARATOR as SEPARATOR,
    AnswersOfClient as AnswersOfClient,
    CollectedTable as CollectedTable,
    CollectionDesign as CollectionDesign,
    Combination as Combination,
    View as View,
    design_collection as design_collection,
    fewest_views as fewest_views,
    guaranteed as guaranteed,
    keep_for_record as keep_for_record,
    make_views as make_views,
    section_5_block as section_5_block,
)
from .tables import (
    DIVERGENCE_THRESHOLD as DIVERGENCE_THRESHOLD,
    POOLED as POOLED,
    PRINTED as PRINTED,
    PRINTED_FIRST_VERSION as PRINTED_FIRST_VERSION,
    Rule as Rule,
    TableState as TableState,
    Update as Update,
    answer_epsilon as answer_epsilon,
    checked_counts as checked_counts,
    claimed_epsilon as claimed_epsilon,
    floor_epsilon as floor_epsilon,
    floored_projection as floored_projection,
    keep_for_epsilon as keep_for_epsilon,
    printed_estimate as printed_estimate,
    retention_from_claim as retention_from_claim,
    table_channel as table_channel,
    variance_inflation as variance_inflation,
)
