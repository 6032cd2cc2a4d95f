from .comparing import MechanismComparison as MechanismComparison, compare as compare
from .expected import (
    beside_guess as beside_guess,
    better_guesses as better_guesses,
    epsilon_for as epsilon_for,
    expected_errors as expected_errors,
    note_on_guesses as note_on_guesses,
    points_text as points_text,
    records_for_error as records_for_error,
)
from .exploring import (
    EPSILONS as EPSILONS,
    AnswerOdds as AnswerOdds,
    ExploredPlan as ExploredPlan,
    explore as explore,
)
from .picture import draw as draw
