from .approval import (
    approval_of as approval_of,
    approve_plan as approve_plan,
)
from .verification import (
    NOT_SHOWN as NOT_SHOWN,
    verify_release as verify_release,
)
from .withdrawal import (
    withdraw_release as withdraw_release,
)
