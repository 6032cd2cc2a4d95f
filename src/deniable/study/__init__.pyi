from .catalog import (
    WRITTEN as WRITTEN,
    Analysis as Analysis,
    Columns as Columns,
    Given as Given,
    Section as Section,
    StudyTable as StudyTable,
    resolve as resolve,
)
from .claims import (
    CLAIM_COLUMNS as CLAIM_COLUMNS,
    Claim as Claim,
    Claims as Claims,
    Decide as Decide,
    Evidence as Evidence,
    claim_columns as claim_columns,
    decide_claims as decide_claims,
    source_of as source_of,
)
from .comparisons import (
    FALSE_ALARMS as FALSE_ALARMS,
    SIMILAR as SIMILAR,
    Outcome as Outcome,
    Pair as Pair,
    Row as Row,
    alike as alike,
    below as below,
    counted as counted,
    known as known,
    listed as listed,
    logarithms as logarithms,
    near as near,
    range_of as range_of,
    ratio as ratio,
    ratios_of as ratios_of,
    some as some,
    z_score as z_score,
)
from .engine import (
    CONFIDENCE as CONFIDENCE,
    RESULT_COLUMNS as RESULT_COLUMNS,
    Simulator as Simulator,
    SummaryName as SummaryName,
    Verdict as Verdict,
    agreement as agreement,
    compare as compare,
    in_order as in_order,
    mean_summary as mean_summary,
    plotted as plotted,
    replicate as replicate,
    simulate_chunk as simulate_chunk,
)
from .grid import cells_of_grids as cells_of_grids, chunk_of as chunk_of, values_of as values_of
from .origin import Origin as Origin
from .pages import (
    Agreement as Agreement,
    Page as Page,
    PrivacyVerdict as PrivacyVerdict,
    Verdicts as Verdicts,
    agreement_of as agreement_of,
    tally_of_claims as tally_of_claims,
)
from .published import read_published as read_published
from .settings import (
    Coverage as Coverage,
    Epsilon as Epsilon,
    Grid as Grid,
    Probability as Probability,
    Share as Share,
    StudySettings as StudySettings,
    Values as Values,
)
