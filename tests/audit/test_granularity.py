"""Granularity: which numbers of questions make printed shares possible."""

import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.audit.rules import granularity as g
from memrepro.errors import MemreproError

_PEERS = {g.ROUNDED: ROUND_HALF_UP, g.EVEN: ROUND_HALF_EVEN, g.CUT: ROUND_DOWN}


def shown(k, n, digits, how=ROUND_HALF_UP):
    # More digits than any share of up to 1000 questions needs to tell a half from a near half.
    exact = Decimal(k) / Decimal(n)
    return str(exact.quantize(Decimal(1).scaleb(-digits), rounding=how))


@given(st.integers(1, 999), st.data(), st.integers(1, 4))
def test_each_way_of_writing_is_that_of_decimal(n, data, digits):
    k = data.draw(st.integers(0, n))
    for way, value in g.written(k, n, digits).items():
        assert value == int(Decimal(shown(k, n, digits, _PEERS[way])).scaleb(digits))


@given(st.integers(1, 300), st.integers(0, 9999))
def test_a_share_is_possible_just_where_a_count_gives_it(n, units):
    text = f"{units / 10**4:.4f}"
    every = {v for k in range(n + 1) for v in g.written(k, n, 4).values()}
    assert g.possible(text, n) == (units in every)


def test_rounding_and_cutting_off_are_told_apart():
    assert g.ways("0.839", 428) == {g.ROUNDED: 359, g.EVEN: 359}
    assert g.ways("0.838", 428) == {g.CUT: 359}
    # 1/8 = 0.125 at two digits: up 0.13, to even 0.12, cut off 0.12.
    assert g.ways("0.13", 8) == {g.ROUNDED: 1}
    assert g.ways("0.12", 8) == {g.EVEN: 1, g.CUT: 1}


@pytest.mark.parametrize("way", [g.ROUNDED, g.CUT, g.ANY])
@pytest.mark.parametrize(("n", "digits"), [(7, 2), (97, 4), (428, 3), (1000, 3)])
def test_density_counts_the_strings_that_n_can_give(n, digits, way):
    kept = {g.ROUNDED: {g.ROUNDED}, g.CUT: {g.CUT}, g.ANY: {g.ROUNDED, g.CUT}}[way]
    every = {v for k in range(n + 1) for w, v in g.written(k, n, digits).items() if w in kept}
    assert g.density(n, digits, way) == pytest.approx(len(every) / (10**digits + 1), abs=2e-3)


@given(st.integers(1, 250), st.lists(st.integers(0, 250), min_size=1, max_size=8))
def test_all_shares_made_at_n_are_accepted_at_n(n, counts):
    shares = [shown(min(k, n), n, 4) for k in counts]
    for fit in g.fits(shares, [n]):
        if fit.way in (g.ROUNDED, g.ANY):
            assert fit.possible == fit.of


def test_two_exchanged_digits():
    assert list(g.near_misses("0.3765", 213)) == [("0.3756", 80)]
    assert list(g.near_misses("0.3756", 213)) == []


def test_sizes_of_parts_by_brute_force():
    columns = [["0.250", "0.750"], ["0.333", "0.667"]]
    found = g.sizes_of_parts(columns, 10)
    assert found == [(4, 6)]
    assert g.sizes_of_parts([["0.5"]], 3) == []
    assert all(math.isclose(sum(one), 20) for one in g.sizes_of_parts(columns, 20))


@pytest.mark.parametrize("strange", ["1.2", "-0.1", "word"])
def test_what_is_no_share_is_refused(strange):
    with pytest.raises(MemreproError, match="is no share: it must be a number from 0 to 1"):
        g.ways(strange, 10)
