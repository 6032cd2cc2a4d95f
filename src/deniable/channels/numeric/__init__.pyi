from .grid_noises import (
    laplace_channel as laplace_channel,
    staircase_channel as staircase_channel,
)
from .square_wave import (
    SquareWave as SquareWave,
    SquareWaveOrMissing as SquareWaveOrMissing,
    window_half_width as window_half_width,
)
