from .base import (
    Counted as Counted,
    Responses as Responses,
)
from .collected import CollectedResponses as CollectedResponses
from .columns import (
    ProtectedFormat as ProtectedFormat,
    category_columns as category_columns,
    holds_wider_points as holds_wider_points,
    response_columns as response_columns,
)
from .forms import (
    NOT_ASKED as NOT_ASKED,
    FormResponses as FormResponses,
    Forms as Forms,
)
from .masked import (
    MaskedResponses as MaskedResponses,
    MixedResponses as MixedResponses,
    counts_in as counts_in,
    histogram_table as histogram_table,
    with_counts as with_counts,
)
from .originals import (
    WeightedMicrodata as WeightedMicrodata,
    compare_records as compare_records,
)
from .protected import ProtectedRecords as ProtectedRecords, protected_file as protected_file
from .scores import factors as factors, sums_of_scores as sums_of_scores
from .tables import (
    MAX_ENTRIES as MAX_ENTRIES,
    MAX_SCORED as MAX_SCORED,
    Answers as Answers,
    Side as Side,
    Table as Table,
    TableStratum as TableStratum,
    cells_of as cells_of,
    kept_back_table as kept_back_table,
    margin_channel as margin_channel,
    table_within_strata as table_within_strata,
)
