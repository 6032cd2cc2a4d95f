from .grid_noises import (
    laplace_channel as laplace_channel,
    staircase_channel as staircase_channel,
)
from .square_wave import (
    SquareWave as SquareWave,
    window_half_width as window_half_width,
)
from .wave_or_missing import SquareWaveOrMissing as SquareWaveOrMissing
