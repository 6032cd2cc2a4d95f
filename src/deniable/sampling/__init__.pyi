from .keyed import (
    KEY_BYTES as KEY_BYTES,
    KeyedColumn as KeyedColumn,
    KeyedDraws as KeyedDraws,
    Numbers as Numbers,
    RandomnessSource as RandomnessSource,
    Words as Words,
    by_words as by_words,
    framed as framed,
    new_key as new_key,
)
from .levels import Levels as Levels, keyed_events as keyed_events, keyed_integers as keyed_integers
from .noise import KeyedNoise as KeyedNoise, Noise as Noise, SeededNoise as SeededNoise
from .outcomes import (
    Categories as Categories,
    Outcomes as Outcomes,
    events as events,
    multinomial as multinomial,
    whole_weights as whole_weights,
)
from .sources import (
    RandomSource as RandomSource,
    SystemRandomSource as SystemRandomSource,
    generator_for as generator_for,
    refuse_no_source as refuse_no_source,
)
