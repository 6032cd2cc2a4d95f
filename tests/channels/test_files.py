"""Matrix, prior and count files: back to the bit, and every fault named once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import (
    dense_channels,
    rectangular_channels,
)

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.channels.files import (
    read_channel,
    read_counts,
    read_prior,
    write_channel,
)
from deniable.errors import ChannelError, DataError

GOOD = ",a,b\na,0.75,0.25\nb,0.5,0.5\n"
MATRIX = [[0.75, 0.25], [0.5, 0.5]]


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "file.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


# -- what is read ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "true \\ reported,a,b\na,0.75,0.25\nb,0.5,0.5",
        b"\xef\xbb\xbf" + GOOD.encode(),  # a byte order mark, as spreadsheets write it
        GOOD.replace("\n", "\r\n"),
        "\n , a , b\n\n a, .75 ,2.5e-1\n,,\nb,1/2,5E-1\n\n",
        '"","a","b"\n"a","0.75","0.25"\n"b",0.5,0.5\n',
        ",a,b\nb,0.5,0.5\na,3/4,1/4\n",  # rows in another order than columns
        ",a,b\na,+.75,0.2500000001\nb,0.5,.5\n",  # within 1e-9
    ],
)
def test_forms_that_are_read(tmp_path, content):
    found = read_channel(write(tmp_path, content))
    assert found.categories == ("a", "b")
    assert found.reports == found.categories
    np.testing.assert_allclose(found.channel.entries, MATRIX, atol=2e-10)


def test_the_header_is_the_order_and_rows_are_true_categories(tmp_path):
    found = read_channel(write(tmp_path, ",z,a\na,0.25,0.75\nz,1,0\n"))
    assert found.categories == ("z", "a")
    np.testing.assert_array_equal(found.channel.entries, [[1, 0], [0.25, 0.75]])


def test_fractions_are_rounded_once(tmp_path):
    found = read_channel(write(tmp_path, ",a,b,c\na,1/3,1/3,1/3\nb,1/7,2/7,4/7\nc,0,0,1\n"))
    np.testing.assert_array_equal(found.channel.entries[:2], [[1 / 3] * 3, [1 / 7, 2 / 7, 4 / 7]])
    assert found.channel.parity == np.inf


@settings(deadline=None, max_examples=60, derandomize=True)
@given(channel=dense_channels())
def test_what_is_written_is_read_back_to_the_bit(folder, channel):
    path = folder / "matrix.csv"
    names = [f"category, {u}" for u in range(channel.size)]
    write_channel(path, channel, names)
    found = read_channel(path)
    assert found.categories == tuple(names)
    assert found.channel.entries.tobytes() == channel.entries.tobytes()


def test_any_channel_is_written(tmp_path):
    path = tmp_path / "new folder" / "matrix.csv"
    channel = KeepOrReplace.uniform(3, 0.5)
    write_channel(path, channel, ["a", "ß", "c"])
    assert path.read_text("utf-8").splitlines()[0] == "true category,a,ß,c"
    np.testing.assert_array_equal(read_channel(path).channel.entries, channel.matrix())


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", ""], ["a", " b"]])
def test_names_that_could_not_be_read_again_are_not_written(tmp_path, names):
    path = tmp_path / "matrix.csv"
    with pytest.raises(DataError, match="categor"):
        write_channel(path, DenseChannel(np.array(MATRIX)), names)
    assert not path.exists()


def test_too_large_a_channel_is_not_written(tmp_path):
    large = KeepOrReplace.uniform(5000, 0.5)
    with pytest.raises(ChannelError, match="5,000"):
        write_channel(tmp_path / "m.csv", large, [str(u) for u in range(5000)])
    assert list(tmp_path.iterdir()) == []


# -- reports of their own --------------------------------------------------------------------------


@pytest.mark.parametrize("corner", ["true category / report", "Report", "true, REPORTS:"])
def test_reports_of_their_own(tmp_path, corner):
    # Rows in the order of the file.
    path = write(tmp_path, f'"{corner}",x,y,z\nb,0.5,1/4,0.25\na,0,0.125,0.875\n')
    found = read_channel(path)
    assert found.categories == ("b", "a")
    assert found.reports == ("x", "y", "z")
    np.testing.assert_array_equal(found.channel.entries, [[0.5, 0.25, 0.25], [0, 0.125, 0.875]])


def test_fewer_reports_and_as_many_of_other_names(tmp_path):
    found = read_channel(write(tmp_path, "report,x,y\na,.5,.5\nb,.25,.75\nc,0,1\n"))
    assert (found.categories, found.reports) == (("a", "b", "c"), ("x", "y"))
    assert found.channel.singular
    found = read_channel(write(tmp_path, "report,x,a\na,.5,.5\nb,.25,.75\n"))
    assert (found.categories, found.reports) == (("a", "b"), ("x", "a"))
    np.testing.assert_array_equal(found.channel.entries, [[0.5, 0.5], [0.25, 0.75]])


def test_reports_named_as_the_categories_are_the_categories(tmp_path):
    found = read_channel(write(tmp_path, "true / report,b,a\na,0,1\nb,0.75,.25\n"))
    assert found.categories == found.reports == ("b", "a")
    np.testing.assert_array_equal(found.channel.entries, [[0.75, 0.25], [0, 1]])


def test_the_word_report_is_no_part_of_another(tmp_path):
    # As files always could have it: the reported categories.
    found = read_channel(write(tmp_path, "true \\ reported,a,b\nb,0.5,0.5\na,3/4,1/4\n"))
    assert found.categories == ("a", "b")
    with pytest.raises(DataError, match='are not the categories, write "report" in the first'):
        read_channel(write(tmp_path, "true \\ reported,x,y\na,1,0\nb,0,1\n"))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(channel=rectangular_channels(), data=st.data())
def test_what_is_written_with_reports_is_read_back_to_the_bit(folder, channel, data):
    path = folder / "matrix.csv"
    names = [f"category, {u}" for u in range(channel.size)]
    reports = data.draw(st.sampled_from([None, [f"report {v}" for v in range(channel.reports)]]))
    write_channel(path, channel, names, reports)
    found = read_channel(path)
    assert found.categories == tuple(names)
    if reports is None:
        numbered = [str(v + 1) for v in range(channel.reports)]
        reports = names if channel.square else numbered
    assert found.reports == tuple(reports)
    assert found.channel.entries.tobytes() == channel.entries.tobytes()


def test_products_of_as_many_reports_in_all_have_reports_of_their_own(tmp_path):
    few = DenseChannel(np.array([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]))
    wide = DenseChannel(np.array([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]]))
    path = tmp_path / "matrix.csv"
    write_channel(path, ProductChannel((few, wide)), list("abcdef"))
    assert read_channel(path).reports == tuple("123456")


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (["x", "y"], "2 reports for a channel with 3"),
        (["x", "y", "x"], "the report 'x' is empty, has"),
        (["x", "", "z"], "the report '' is empty"),
        (["x", "y ", "z"], "the report 'y ' is empty"),
    ],
)
def test_reports_that_could_not_be_read_again_are_not_written(tmp_path, reports, message):
    path = tmp_path / "matrix.csv"
    wide = DenseChannel(np.array([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]]))
    with pytest.raises(DataError, match=message):
        write_channel(path, wide, ["a", "b"], reports)
    assert not path.exists()


def test_too_many_reports_are_not_written(tmp_path):
    wide = DenseChannel(np.full((2, 5000), 1 / 5000))
    with pytest.raises(ChannelError, match="may have 4,096 reports, the channel has 5,000"):
        write_channel(tmp_path / "m.csv", wide, ["a", "b"])
    assert list(tmp_path.iterdir()) == []


def test_counts_of_reports_are_matched_by_name(tmp_path):
    for key in ("report", "category"):
        path = write(tmp_path, f"{key},count\ny,2\nz,0\nx,5\n")
        assert read_counts(path, ["x", "y", "z"]).tolist() == [5, 2, 0]
    path = write(tmp_path, "report,category,count\na,x,5\nb,y,7\n")
    assert read_counts(path, ["x", "y"]).tolist() == [5, 7]
    with pytest.raises(DataError, match="no row for 'z'; add it"):
        read_counts(write(tmp_path, "report,count\ny,2\nx,5\n"), ["x", "y", "z"])
    with pytest.raises(DataError, match="header report,count"):
        read_counts(write(tmp_path, "report,number\ny,2\n"), ["y"])
    with pytest.raises(DataError, match="header category,probability"):
        read_prior(write(tmp_path, "report,probability\ny,1\n"), ["y"])


# -- faults of a matrix ----------------------------------------------------------------------------

FAULTS = {
    "empty": ("", "the file is empty"),
    "only white space": ("\n , \n", "the file is empty"),
    "no UTF-8": (GOOD.encode("utf-16"), "not UTF-8"),
    "semicolons": (";a;b\na;0,75;0,25\nb;0,5;0,5\n", "line 1 is separated by ';'"),
    "tabs": (GOOD.replace(",", "\t"), r"line 1 is separated by '\\t'"),
    "open quote": (',"a,b\na,1,0\n', "line 2 is not CSV"),
    "no categories": ("x\na\n", "names no categories"),
    "header shifted": ("a,b\na,0.75,0.25\nb,0.5,0.5\n", r"header \(line 1\) has 2 cells, the rows"),
    "unnamed column": (",a,\na,1,0\nb,0,1\n", r"column 3 of the header \(line 1\) has no category"),
    "column twice": (",a,a\na,1,0\n", "header has 'a' twice"),
    "row twice": (GOOD + "a,1,0\n", "category 'a' has two rows, in lines 2 and 4"),
    "row unnamed": (",a,b\na,1,0\n,0,1\n", "line 3 names no category"),
    "row missing": (",a,b\na,0.75,0.25\n", "no row for 'b'; add it"),
    "no rows": (",a,b\n", "no row for 'a', 'b'"),
    "row too many": (GOOD + "c,1,0\n", "'c' among the rows, but not in the columns"),
    "other names": (",a,b\na,1,0\nB,0,1\n", "'B' among the rows, but not in the columns"),
    "cell missing": (",a,b\na,1,0\nb,1\n", "line 3 has 2 cells, the header has 3"),
    "decimal commas": (",a,b\na,0,75,0,25\nb,0,5,0,5\n", "line 2 has 5 cells, the header has 3"),
    "quoted commas": (',a,b\na,"0,5",0.5\nb,0,1\n', "column 'a' has '0,5', which is not a number"),
    "no name in common": (
        ",x,y,z\na,.5,.25,.25\nb,0,0,1\n",
        """'a', 'b' among the rows, .* 'x', 'y', 'z'; if the columns are not the categories, """
        """write "report" in the first cell""",
    ),
    "reports without rows": ("report,x,y\n", "0 rows; give one for each category"),
    "too many rows of reports": (
        "report,x,y\n" + "".join(f"{u},1,0\n" for u in range(4097)),
        "4,097 rows; give one for each category, up to 4,096",
    ),
    "report twice": ("report,x,x\na,1,0\n", "header has 'x' twice"),
    "row of reports twice": (
        "report,x,y,z\na,1,0,0\na,1,0,0\n",
        "category 'a' has two rows, in lines 2 and 3",
    ),
    "row of reports unnamed": ("report,x,y\n,1,0\n", "line 2 names no category"),
    "row of reports short": ("report,x,y,z\na,1,0\n", "line 2 has 3 cells, the header has 4"),
    "row of reports sums": (
        "report,x,y,z\na,.5,.25,.5\n",
        r"row 'a' \(line 2\) sums to 1.25, not to 1",
    ),
    "reports transposed": (
        "report,a,b\nx,.5,.25\ny,.25,.25\nz,.25,.5\n",
        r"row 'x' \(line 2\) sums to 0.75, not to 1; .* column-stochastic, .* transpose it",
    ),
    "no value": (",a,b\na,1,\nb,0,1\n", r"row 'a' \(line 2\), column 'b' has '', .* write 0"),
    "no number": (",a,b\na,1,x\nb,0,1\n", r"row 'a' \(line 2\), column 'b' has 'x', which is not"),
    "percent": (",a,b\na,75%,25%\nb,0,1\n", r"column 'a' has '75%', a percentage; write 0.75"),
    "nan": (",a,b\na,nan,1\nb,0,1\n", "column 'a' has 'nan', which is not a number"),
    "infinite": (",a,b\na,1,0\nb,0,inf\n", r"row 'b' \(line 3\), column 'b' has 'inf'"),
    "over zero": (",a,b\na,1/0,0\nb,0,1\n", "column 'a' has '1/0', which is not a number"),
    "endless": (",a,b\na,1e9999999999,0\nb,0,1\n", "has '1e9999999999', which is not a number"),
    "negative": (",a,b\na,1.5,-0.5\nb,0,1\n", "column 'b' has '-0.5', which is negative"),
    "sum": (",a,b\na,0.7,0.2\nb,0,1\n", r"row 'a' \(line 2\) sums to 0.9, not to 1; give prob"),
    "rounded": (",a,b,c\na,.333,.333,.333\nb,0,1,0\nc,0,0,1\n", "sums to 0.999, .* such as 1/3"),
    "percentages": (",a,b\na,75,25\nb,0,100\n", "sums to 100, .* divide them by 100"),
    "columns sum to 1": (
        ",a,b\na,0.75,0.5\nb,0.25,0.5\n",
        r"row 'a' \(line 2\) sums to 1.25, not to 1; .* column-stochastic, .* transpose it",
    ),
}


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_faults_of_a_matrix(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(DataError, match=message) as caught:
        read_channel(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match=r"none.csv: No such file or directory; check the path"):
        read_channel(tmp_path / "none.csv")
    with pytest.raises(DataError, match="Is a directory"):
        read_channel(tmp_path)


def test_lists_of_names_are_cut(tmp_path):
    names = [f"{'long' * 20}{u}" for u in range(30)]
    with pytest.raises(DataError, match="and 22 more") as caught:
        read_channel(write(tmp_path, "," + ",".join(names) + "\n"))
    assert len(str(caught.value)) < 700


# -- priors and counts -----------------------------------------------------------------------------


def test_priors_and_counts_are_matched_by_name(tmp_path):
    path = write(tmp_path, "category,probability\nb,1/4\na,0.75\n")
    np.testing.assert_array_equal(read_prior(path, ["a", "b"]), [0.75, 0.25])
    path = write(tmp_path, b"\xef\xbb\xbfnote,count,category\nx,7,b\ny,1e3,a\n")
    found = read_counts(path, ["a", "b"])
    assert found.tolist() == [1000, 7]
    assert found.dtype == np.int64


COLUMN_FAULTS = {
    "no header": ("a,0.75\nb,0.25\n", "column 'category' is not there in line 1; begin the file"),
    "wrong header": ("category,share\na,1\n", "column 'probability' is not there"),
    "header twice": ("category,probability,probability\na,1,1\n", "'probability' is twice"),
    "unknown": ("category,probability\na,.5\nc,.5\n", "'c' among the rows, but not in the channel"),
    "missing": ("category,probability\na,1\n", "no row for 'b'; add it"),
    "twice": ("category,probability\na,.5\na,.5\n", "'a' has two rows, in lines 2 and 3"),
    "text": ("category,probability\na,half\nb,.5\n", "column 'probability' has 'half'"),
    "negative": ("category,probability\na,1.5\nb,-.5\n", "'-.5', which is negative"),
    "sum": ("category,probability\na,.5\nb,.4\n", "'probability' sums to 0.9, not to 1"),
    "percentages": ("category,probability\na,60\nb,40\n", "sums to 100, .* divide them by 100"),
}


@pytest.mark.parametrize(("content", "message"), COLUMN_FAULTS.values(), ids=COLUMN_FAULTS.keys())
def test_faults_of_a_prior(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(DataError, match=message) as caught:
        read_prior(path, ["a", "b"])
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("value", ["", "-1", "1.5", "x", "1,000", "10%", "nan", "1e99", "1/2"])
def test_what_is_no_count_is_refused(tmp_path, value):
    path = write(tmp_path, f'category,count\na,3\nb,"{value}"\n')
    with pytest.raises(
        DataError, match=r"row 'b' \(line 3\), column 'count' .* not a number of recor"
    ):
        read_counts(path, ["a", "b"])


def test_no_counts_at_all_are_refused(tmp_path):
    with pytest.raises(DataError, match="'count' is all 0"):
        read_counts(write(tmp_path, "category,count\na,0\nb,0\n"), ["a", "b"])


@settings(deadline=None, max_examples=150, derandomize=True)
@given(text=st.text(alphabet='ab,;"\n\r\t 01./-%e\ufeff\0é', max_size=40))
def test_no_text_leads_to_anything_but_a_channel_or_one_message(folder, text):
    path = write(folder, text)
    for read in (
        read_channel,
        lambda file: read_prior(file, ["a", "b"]),
        lambda file: read_counts(file, ["a", "b"]),
    ):
        message = ""
        try:
            read(path)
        except DataError as error:
            message = str(error)
        assert not message or (message.startswith(f"{path}: ") and "\n" not in message)
