from .making import (
    choose_in_forms as choose_in_forms,
    forms_of as forms_of,
    make_questionnaire as make_questionnaire,
)
from .plan import QuestionnairePlan as QuestionnairePlan
