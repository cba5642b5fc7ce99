"""Arrow columns in and out, with the libraries that have them."""

import pandas
import polars
import pyarrow
import pytest

import cape_dp
from cape_dp import Cape, Secret

ROWS = ["Alice has asthma.", None, "", "Zoltan is 54 years old.", "Alice again."]


def expected(secret):
    return [None if row is None else Cape().perturb(row, secret=secret).text for row in ROWS]


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array(ROWS),
        pyarrow.array(ROWS, pyarrow.large_string()),
        pyarrow.array(ROWS, pyarrow.string_view()),
        pyarrow.array(ROWS).dictionary_encode(),
        pyarrow.chunked_array([ROWS[:2], [], ROWS[2:]]),
        polars.Series(ROWS),
        polars.Series(ROWS, dtype=polars.Categorical),
        pandas.Series(ROWS, dtype="str"),
        pandas.Series(ROWS, dtype="string[pyarrow]"),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{getattr(column, 'type', None) or column.dtype}",
)
def test_a_column_goes_in_and_comes_out(column):
    secret = Secret()
    released = Cape().perturb(column, secret=secret)
    assert isinstance(released, cape_dp.Column) and len(released) == len(ROWS)
    texts = expected(secret)
    assert released.to_pylist() == texts
    assert pyarrow.array(released).to_pylist() == texts
    assert pyarrow.chunked_array(released).to_pylist() == texts
    assert polars.Series(released).to_list() == texts
    series = pandas.Series(pyarrow.array(released).to_pandas())
    assert [None if pandas.isna(text) else text for text in series] == texts
    releases = Cape().perturb([row for row in ROWS if row is not None])
    assert released.draws == sum(release.privacy.draws for release in releases)


def test_types_are_kept():
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
        assert pyarrow.array(Cape().perturb(pyarrow.array(ROWS, kind))).type == kind
    assert pyarrow.array(Cape().perturb(pyarrow.array([], pyarrow.string()))).to_pylist() == []
    assert pyarrow.array(Cape().perturb(pyarrow.nulls(3))).to_pylist() == [None] * 3


def test_rows_are_named_and_other_columns_refused():
    with pytest.raises(cape_dp.ControlCharacterError) as raised:
        Cape().perturb(pyarrow.chunked_array([["a", None], [None, "b\0"]]))
    assert raised.value.row == 3
    for column in (pyarrow.array([1, 2]), polars.Series([1.5]), pyarrow.array([b"bytes"])):
        with pytest.raises(TypeError):
            Cape().perturb(column)
