from .comparing import MechanismComparison as MechanismComparison, compare as compare
from .expected import expected_errors as expected_errors
from .exploring import (
    EPSILONS as EPSILONS,
    AnswerOdds as AnswerOdds,
    ExploredPlan as ExploredPlan,
    explore as explore,
)
from .page import explore_page as explore_page
from .picture import draw as draw
from .records import records_for_error as records_for_error
