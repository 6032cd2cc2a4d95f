from .contents import (
    gather as gather,
    public_folders as public_folders,
    read_releases as read_releases,
)
from .release_errors import plot_errors as plot_errors, sweep_table as sweep_table
from .render import write as write
