from . import environment as environment
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
from .jobs import BENCHMARKS as BENCHMARKS, CPU_SUFFIX as CPU_SUFFIX, job as job
from .outdated import reasons_of as reasons_of
from .plan import (
    MINUTES as MINUTES,
    MIRROR_VARIABLE as MIRROR_VARIABLE,
    SECONDS as SECONDS,
    SIMULATION as SIMULATION,
    RunPlan as RunPlan,
    needs as needs,
)
from .provenance import (
    SOURCE_SUFFIX as SOURCE_SUFFIX,
    SOURCE_VARIABLE as SOURCE_VARIABLE,
    SUFFIX as SUFFIX,
    WITHHELD as WITHHELD,
    Verified as Verified,
    content_digest as content_digest,
    provenance_path as provenance_path,
    recorded as recorded,
    verified as verified,
)
from .releases import (
    Releases as Releases,
    check_published as check_published,
    data_source as data_source,
)
