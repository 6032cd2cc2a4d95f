from .design import HISTOGRAMS as HISTOGRAMS, Domains as Domains, protect as protect
from .estimates import QUANTILES as QUANTILES, SHARE as SHARE, estimate_numbers as estimate_numbers
from .promises import definition as definition, proved_epsilon as proved_epsilon
