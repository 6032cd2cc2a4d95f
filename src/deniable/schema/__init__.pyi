from .model import (
    MISSING as MISSING,
    Column as Column,
    FileFormat as FileFormat,
    Missing as Missing,
    Schema as Schema,
    read_schema as read_schema,
    schema_from as schema_from,
)
