from .conflicts import InfeasibleError as InfeasibleError
from .designing import Design as Design, design as design
from .exactness import violations as violations
from .programs import Cost as Cost, Requirements as Requirements
from .rectangular import Reports as Reports, report_names as report_names
from .specification import Specification as Specification, read_specification as read_specification
