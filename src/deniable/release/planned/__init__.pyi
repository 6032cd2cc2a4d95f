from .protecting import (
    planned_release as planned_release,
    protect as protect,
)
