from .contents import gather as gather, public_folders as public_folders
from .render import write as write
