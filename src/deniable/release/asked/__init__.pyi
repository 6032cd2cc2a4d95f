from .channels import (
    LARGEST_MATRIX as LARGEST_MATRIX,
    channel_at as channel_at,
    protocol_within as protocol_within,
)
from .check import audit_asked as audit_asked
