from . import environment as environment
from .cluster_needs import needs as needs
from .code_digest import (
    COMPUTING_PACKAGES as COMPUTING_PACKAGES,
    run_facts as run_facts,
    versions as versions,
)
from .config import (
    Config as Config,
    refuse_repeated_keys as refuse_repeated_keys,
    validate as validate,
)
from .freshness import (
    STALE as STALE,
    STALE_VARIABLE as STALE_VARIABLE,
    Asked as Asked,
    set_aside as set_aside,
    stale as stale,
    summary as summary,
)
from .job_log import logged as logged
from .jobs import job as job
from .plan import MIRROR_VARIABLE as MIRROR_VARIABLE, RAW as RAW, Plan as Plan
from .provenance import (
    SOURCE_VARIABLE as SOURCE_VARIABLE,
    SUFFIX as SUFFIX,
    WITHHELD as WITHHELD,
    Making as Making,
    Verified as Verified,
    content_digest as content_digest,
    provenance_path as provenance_path,
    recorded as recorded,
    verified as verified,
)
