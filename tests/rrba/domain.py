"""The domain that clients, aggregators and servers are tried on, and a view of it."""

from deniable.records.domain import Attribute, Domain
from deniable.rrba.questions import View

DOMAIN = Domain(
    (
        Attribute("a", ("0", "1")),
        Attribute("b", ("0", "1", "2")),
        Attribute("c", ("0", "1")),
        Attribute("d", ("0",)),
    )
)
PAIR: View = (("a", "b"),)
