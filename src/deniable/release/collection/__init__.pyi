from .check import audit_collection as audit_collection
from .design import (
    ROUNDING as ROUNDING,
    AskedTable as AskedTable,
    CollectionDesign as CollectionDesign,
    collect_answers as collect_answers,
    in_full as in_full,
    rule_of as rule_of,
)
from .estimates import (
    Answers as Answers,
    answers_of as answers_of,
    fit_in_two_steps as fit_in_two_steps,
    make_consistent as make_consistent,
)
from .independence import independence_tests as independence_tests
