"""The registry of the kinds of plans, and plans from the settings of a config.

A class is imported when a plan of its kind is read, and its settings when a config has one.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from deniable.errors import DeniableError, shown
from deniable.validation import fault_lines, message

if TYPE_CHECKING:  # the check of a config needs no computation
    from deniable.plans.interface import Plan
    from deniable.plans.settings import PlanOptions

MANUAL = "docs/options.md describes every option"
KINDS: Mapping[str, tuple[str, str]] = {
    "columns": ("columns:ColumnsPlan", "settings.columns:ColumnsSettings"),
    "strata": ("strata:StrataPlan", "settings.columns:StrataSettings"),
    "masked": ("masked.plan:MaskedPlan", "masked.settings:MaskedSettings"),
    "mixed": ("masked.mixed:MixedPlan", "masked.settings:MixedSettings"),
    "collected": ("collected.plan:CollectedPlan", "collected.settings:CollectedSettings"),
    "questionnaire": ("questionnaire:QuestionnairePlan", "settings.columns:QuestionnaireSettings"),
}
"""The plan and the settings of each kind, as "module:class" in `deniable.plans`."""
KEPT_BACK = "kept_back"  # the kind of a published plan without its matrices, which has no settings


def plan_class(kind: Any) -> "type[Plan]":
    """Return the class of the plans of a `kind`; raise `DeniableError` if there is none."""
    kept_back = "kept_back:KeptBackPlan"
    found: type[Plan] = _resolved(kept_back if kind == KEPT_BACK else _known(kind)[0])
    return found


def settings_class(kind: Any) -> "type[PlanOptions]":
    """Return the model of the settings of a `kind`; raise `DeniableError` if there is none."""
    found: type[PlanOptions] = _resolved(_known(kind)[1])
    return found


def settings_from(values: Mapping[str, Any], where: str = "plan") -> "PlanOptions":
    """Return the settings of a plan from plain `values`, with the ``kind`` of the plan.

    Raises `DeniableError` if the kind is unknown or an option is invalid, with one line per option.
    The message begins with the place, `where`.
    """
    kind = values.get("kind")
    if not isinstance(kind, str):
        raise DeniableError(f"{where}: the kind is missing; allowed: {', '.join(KINDS)}")
    model = settings_class(kind)
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise DeniableError(message(where, fault_lines(error, model, where), MANUAL)) from None


def _known(kind: Any) -> tuple[str, str]:
    if not isinstance(kind, str) or kind not in KINDS:
        raise DeniableError(f"a plan of kind {shown(kind)}; allowed: {', '.join(KINDS)}")
    return KINDS[kind]


def _resolved(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"deniable.plans.{module}"), name)
