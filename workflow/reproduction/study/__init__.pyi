from .bootstrap import How as How
from .catalog import (
    Analysis as Analysis,
    Figure as Figure,
    Paper as Paper,
    Section as Section,
    Study as Study,
    StudyTable as StudyTable,
    resolve as resolve,
)
from .claim_files import (
    Cells as Cells,
    Compared as Compared,
    read_claims as read_claims,
)
from .claims import (
    SENTENCE_COLUMNS as SENTENCE_COLUMNS,
    Claim as Claim,
    Decide as Decide,
    Evidence as Evidence,
    Readings as Readings,
    Test as Test,
    by_sentence as by_sentence,
    claim_columns as claim_columns,
    corrected as corrected,
    decide_claims as decide_claims,
    found_by as found_by,
    source_of as source_of,
)
from .comparisons import (
    LEVEL as LEVEL,
    MARGINS as MARGINS,
    SIMILAR as SIMILAR,
    UNKNOWN as UNKNOWN,
    Comparison as Comparison,
    Kind as Kind,
    Outcome as Outcome,
    Pair as Pair,
    Row as Row,
    below as below,
    below_one as below_one,
    counted as counted,
    equivalent as equivalent,
    exact_row as exact_row,
    listed as listed,
    logarithms as logarithms,
    on_average as on_average,
    pooled as pooled,
    range_of as range_of,
    ratio as ratio,
    ratios_of as ratios_of,
    require_any as require_any,
    within_tolerance as within_tolerance,
)
from .engine import (
    EPSILON_COLUMNS as EPSILON_COLUMNS,
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
    widening as widening,
)
from .grid import (
    Cell as Cell,
    cells_of_grids as cells_of_grids,
    chunk_of as chunk_of,
    values_of as values_of,
)
from .page_tables import (
    MISSING as MISSING,
    PageTable as PageTable,
    all_rows as all_rows,
    from_rows as from_rows,
    pivot as pivot,
    span as span,
    texts as texts,
    where as where,
)
from .pages import (
    AgreementCount as AgreementCount,
    Origin as Origin,
    Page as Page,
    PrivacyVerdict as PrivacyVerdict,
    Verdicts as Verdicts,
    agreement_of as agreement_of,
    claims_section as claims_section,
    claims_tables as claims_tables,
    section_of as section_of,
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
from .tables import (
    DESIGN_RTOL as DESIGN_RTOL,
    OUTPUT_RTOL as OUTPUT_RTOL,
    AnalysisTable as AnalysisTable,
    Columns as Columns,
)
