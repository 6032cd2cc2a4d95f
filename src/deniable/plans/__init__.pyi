from .allocation import Split as Split
from .auditing import AUDIT_COLUMNS as AUDIT_COLUMNS, audit_row as audit_row
from .batches import (
    randomize as randomize,
    randomized as randomized,
)
from .blocks import count_cells as count_cells
from .categorical import CategoricalPlan as CategoricalPlan
from .choosing import BEST as BEST, MECHANISMS as MECHANISMS
from .collected import CollectedPlan as CollectedPlan
from .columns import ColumnsPlan as ColumnsPlan
from .comparison import (
    EPSILONS as EPSILONS,
    AnswerOdds as AnswerOdds,
    ExploredPlan as ExploredPlan,
    MechanismComparison as MechanismComparison,
    beside_guess as beside_guess,
    better_guesses as better_guesses,
    compare as compare,
    draw as draw,
    epsilon_for as epsilon_for,
    expected_errors as expected_errors,
    explore as explore,
    note_on_guesses as note_on_guesses,
    points_text as points_text,
    records_for_error as records_for_error,
)
from .document import (
    plan_from_json as plan_from_json,
    plan_to_json as plan_to_json,
    read_plan as read_plan,
    verify_plan as verify_plan,
    write_plan as write_plan,
)
from .interface import (
    UNIT as UNIT,
    Order as Order,
    Plan as Plan,
    Watch as Watch,
    refuse_no_plan as refuse_no_plan,
)
from .making import (
    clusters_from as clusters_from,
    clusters_from_tables as clusters_from_tables,
    make_plan as make_plan,
    plan_from_protocol as plan_from_protocol,
)
from .masked import MaskedPlan as MaskedPlan, MixedPlan as MixedPlan
from .questionnaire import (
    QuestionnairePlan as QuestionnairePlan,
    make_questionnaire as make_questionnaire,
)
from .risks import (
    RISKS as RISKS,
    Guarantee as Guarantee,
    Origin as Origin,
    refuse_unaccepted as refuse_unaccepted,
    released_columns as released_columns,
    schema_risks as schema_risks,
)
from .settings import (
    KINDS as KINDS,
    PlanInputs as PlanInputs,
    PlanOptions as PlanOptions,
    plan_class as plan_class,
    settings_class as settings_class,
    settings_from as settings_from,
    through_matrices as through_matrices,
)
from .strata import StrataPlan as StrataPlan
