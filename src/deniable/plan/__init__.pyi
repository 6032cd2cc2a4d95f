from .model import (
    FINDINGS as FINDINGS,
    UNIT as UNIT,
    Plan as Plan,
    plan_from as plan_from,
    read_plan as read_plan,
    write_plan as write_plan,
)
from .reports import (
    ReportedColumn as ReportedColumn,
    reported_columns as reported_columns,
)
