from .laplace import Noise as Noise, SeededNoise as SeededNoise, SystemNoise as SystemNoise
from .sources import (
    Categories as Categories,
    RandomSource as RandomSource,
    SystemSource as SystemSource,
    events as events,
    generator_for as generator_for,
    multinomial as multinomial,
    whole_weights as whole_weights,
)
