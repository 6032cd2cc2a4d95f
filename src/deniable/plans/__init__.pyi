from .choosing import (
    BEST as BEST,
    KINDS as KINDS,
    Kind as Kind,
    Mechanism as Mechanism,
)
from .comparing import (
    Comparison as Comparison,
    compare as compare,
)
from .making import (
    Reports as Reports,
    make_plan as make_plan,
    plan_of as plan_of,
)
from .model import (
    FINDINGS as FINDINGS,
    UNIT as UNIT,
    Origin as Origin,
    Plan as Plan,
    plan_from as plan_from,
    read_plan as read_plan,
    write_plan as write_plan,
)
from .picture import draw as draw
from .reports import (
    ReportedColumn as ReportedColumn,
    reported_columns as reported_columns,
)
from .sharing import Split as Split
from .verifying import verify_plan as verify_plan
