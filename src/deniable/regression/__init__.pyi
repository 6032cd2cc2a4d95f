from .formulas import Design as Design, Model as Model
from .groups import Group as Group, groups_of as groups_of
from .likelihood import likelihood_fit as likelihood_fit
from .models import Fit as Fit
from .scores import scores_fit as scores_fit
