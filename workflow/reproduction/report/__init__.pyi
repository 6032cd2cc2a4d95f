from .contents import gather as gather
from .render import write as write
