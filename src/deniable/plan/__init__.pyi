from .model import (
    FINDINGS as FINDINGS,
    Plan as Plan,
    plan_from as plan_from,
    read_plan as read_plan,
    write_plan as write_plan,
)
