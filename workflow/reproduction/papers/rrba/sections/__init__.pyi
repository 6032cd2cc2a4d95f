from .analyses import overview as overview
