from .blocks import (
    AskedTable as AskedTable,
    Block as Block,
    blocks_of as blocks_of,
)
from .choosing import (
    KINDS as KINDS,
    Choice as Choice,
    Kind as Kind,
    Mechanism as Mechanism,
    choose as choose,
)
from .comparing import (
    Comparison as Comparison,
    compare as compare,
)
from .making import (
    Reports as Reports,
    make_plan as make_plan,
)
from .model import (
    FINDINGS as FINDINGS,
    UNIT as UNIT,
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
from .sharing import (
    Split as Split,
    shares_of as shares_of,
)
from .verifying import verify_plan as verify_plan
