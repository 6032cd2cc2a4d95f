from .manifest import (
    AnyDataset as AnyDataset,
    Dataset as Dataset,
    NumericDataset as NumericDataset,
    load_manifest as load_manifest,
)
from .networks import (
    FILES as FILES,
    NETWORKS as NETWORKS,
    BayesianNetwork as BayesianNetwork,
    ConditionalTable as ConditionalTable,
    drawn_file as drawn_file,
    from_resources as from_resources,
    write as write,
)
from .published import (
    draw_surrogate as draw_surrogate,
    fit_surrogate as fit_surrogate,
    read_published as read_published,
    write_schema as write_schema,
)
from .resolve import (
    ResolvedFile as ResolvedFile,
    obtain as obtain,
    read_source as read_source,
    verified_file as verified_file,
)
