from .design import HISTOGRAMS as HISTOGRAMS, mechanism_of as mechanism_of, protect as protect
