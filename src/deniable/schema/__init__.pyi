from .coding import Coder as Coder
from .column import (
    MISSING as MISSING,
    Column as Column,
    FileFormat as FileFormat,
    Missing as Missing,
)
from .draft import Draft as Draft, draft_schema as draft_schema, drafted as drafted
from .faults import (
    OutsideBounds as OutsideBounds,
    ValidationErrors as ValidationErrors,
    warn_outside as warn_outside,
)
from .formats import (
    CsvForm as CsvForm,
    CsvText as CsvText,
    Source as Source,
    open_source as open_source,
    rows_of as rows_of,
)
from .model import (
    Schema as Schema,
    read_schema as read_schema,
    schema_from_dict as schema_from_dict,
)
from .passed import UniqueWeights as UniqueWeights, in_classes as in_classes
from .records_file import (
    Part as Part,
    RecordBatch as RecordBatch,
    RecordsFile as RecordsFile,
    answering_batches as answering_batches,
)
from .types import (
    STAND_INS as STAND_INS,
    encoded as encoded,
    is_number as is_number,
    is_supported as is_supported,
    is_text as is_text,
    number_text as number_text,
    plain_type as plain_type,
    type_named as type_named,
    weights_of as weights_of,
)
