from .exact import Categories as Categories, events as events, whole_weights as whole_weights
from .laplace import Noise as Noise, SeededNoise as SeededNoise, SystemNoise as SystemNoise
from .sources import (
    RandomSource as RandomSource,
    SystemSource as SystemSource,
    generator_for as generator_for,
    multinomial as multinomial,
)
