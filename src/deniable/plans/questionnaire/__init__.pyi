from .making import make_questionnaire as make_questionnaire
from .plan import QuestionnairePlan as QuestionnairePlan
from .settings import QuestionnaireSettings as QuestionnaireSettings
