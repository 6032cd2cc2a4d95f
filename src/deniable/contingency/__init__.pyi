from .agreement import marginal as marginal
from .consistency import (
    AGREEMENT as AGREEMENT,
    Layout as Layout,
    NoisyTable as NoisyTable,
    consistent_tables as consistent_tables,
    largest_disagreement as largest_disagreement,
    reconstruct_printed as reconstruct_printed,
)
from .independence import (
    MONTE_CARLO_TABLES as MONTE_CARLO_TABLES,
    ChannelTest as ChannelTest,
    channel_test as channel_test,
    weighted_channel_test as weighted_channel_test,
)
from .many_tables import (
    TableToTest as TableToTest,
    adjusted_for_number as adjusted_for_number,
    benjamini_hochberg as benjamini_hochberg,
    holm as holm,
    independence_of_tables as independence_of_tables,
)
from .monte_carlo import (
    LaplaceRelease as LaplaceRelease,
    RandomizedRelease as RandomizedRelease,
    SmallCells as SmallCells,
    asymptotic_test as asymptotic_test,
    monte_carlo_test as monte_carlo_test,
    test_against_true_statistic as test_against_true_statistic,
)
from .programs import nearest_table_by_program as nearest_table_by_program
from .two_step import (
    Independence as Independence,
    nearest_tables as nearest_tables,
    two_step_estimate as two_step_estimate,
)
