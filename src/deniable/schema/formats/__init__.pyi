from .csv_text import CsvForm as CsvForm, CsvText as CsvText
from .sources import (
    PORTION as PORTION,
    Piece as Piece,
    Source as Source,
    open_source as open_source,
    rows_of as rows_of,
)
from .survey import SurveySource as SurveySource, open_survey as open_survey
from .transactions import (
    TransactionsSource as TransactionsSource,
    open_transactions as open_transactions,
)
