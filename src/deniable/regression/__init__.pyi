from .formulas import Design as Design, Model as Model
from .groups import Fit as Fit, Group as Group, groups_of as groups_of
from .likelihood import likelihood_fit as likelihood_fit
from .scores import scores_fit as scores_fit
