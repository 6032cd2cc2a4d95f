from .audit import audit_collection as audit_collection
from .check import check_collection as check_collection, margins_of_network as margins_of_network
from .design import (
    CollectionDesign as CollectionDesign,
    collect_answers as collect_answers,
    describe as describe,
    design_collection as design_collection,
    in_full as in_full,
)
from .estimates import (
    estimate_tables as estimate_tables,
    fit_in_two_steps as fit_in_two_steps,
    make_consistent as make_consistent,
    read_rows as read_rows,
)
from .independence import independence_tests as independence_tests
