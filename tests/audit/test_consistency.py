"""The generic rules: true tables pass, errors that were put in are found, and known ones again."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memrepro.audit.consistency import findings, of_documents
from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, WEAK
from memrepro.audit.rules.granularity import possible
from memrepro.audit.tables import table_of
from tests.audit.made import changed, share, table

SIZES = {"Easy": 97, "Hard": 53, "New": 26}
ROWS = {"ours": [80, 31, 9], "theirs": [61, 40, 17], "baseline": [44, 22, 3]}


def failing(*tables, rule=""):
    return [f for f in findings(tables) if f.words == FAILS and rule in f.rule]


counts_ = st.dictionaries(st.sampled_from("abcdef"), st.integers(5, 300), min_size=2, max_size=5)


@settings(max_examples=40, deadline=None)
@given(counts_, st.data())
def test_a_table_of_true_counts_is_accepted(sizes, data):
    right = {
        row: [data.draw(st.integers(0, n)) for n in sizes.values()] for row in ("ours", "theirs")
    }
    made = table(right, sizes)
    assert not [f for f in failing(made) if f.sure == CERTAIN]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(SIZES)), st.integers(2, 5), st.integers(0, 9))
def test_a_changed_digit_that_no_count_gives_is_found(column, place, digit):
    made = table(ROWS, SIZES)
    text = made.rows["ours"][column]
    other = f"{text[:place]}{digit}{text[place + 1 :]}"
    assume(not possible(other, SIZES[column]))
    found = failing(changed(made, "ours", column, other), rule="impossible share")
    assert [(f.where, f.printed, f.sure) for f in found] == [(f"ours, {column}", other, CERTAIN)]


def test_exchanged_cells_are_found_once():
    made = table(ROWS, SIZES)
    one, two = made.rows["ours"]["Easy"], made.rows["ours"]["Hard"]
    made = changed(changed(made, "ours", "Easy", two), "ours", "Hard", one)
    (found,) = failing(made, rule="exchanged")
    assert found.where == "ours, Easy; ours, Hard"
    whole = failing(made, rule="whole and parts")[0]
    assert f"Easy = {one}, Hard = {two}" in whole.found


def test_a_wrong_overall_is_found_with_the_value_that_it_should_have():
    made = changed(table(ROWS, SIZES), "ours", "Overall", "0.6932")
    whole = failing(made, rule="whole and parts")[0]
    assert whole.where == "ours, Overall"
    assert whole.expected.startswith(share(120, 176))


def test_weights_are_searched_for_where_no_size_is_stated():
    rows = {f"row {i}": [i * 37 % 97, i * i * 5 % 53, i**3 * 3 % 26] for i in range(1, 9)}
    made = table(rows, SIZES, n=None)
    (held,) = [f for f in findings([made]) if f.rule == "whole and parts" and f.words == HOLDS]
    assert "Easy 0.55" in held.found
    assert held.sure == LIKELY
    wrong = changed(made, "row 3", "Overall", "0.2900")
    assert [f.where for f in failing(wrong, rule="whole and parts")] == ["row 3, Overall"]
    outside = changed(made, "row 3", "Overall", "0.9900")
    assert "least and the most" in failing(outside, rule="whole and parts")[0].expected


def of_rows(rows, columns, **reading):
    return table_of("doc", "made", {"columns": columns, "rows": rows, **reading})


def test_sums_and_means_of_rows():
    rows = {"1": ["48", "110"], "2": ["43", "90"], "Sum": ["91", "201"], "Avg": ["45.5", "100.0"]}
    found = failing(of_rows(rows, ["queries", "docs"]))
    assert [(f.rule, f.where, f.expected) for f in found] == [("sum of rows", "Sum, docs", "200")]


def test_recall_that_falls_is_certain_and_ndcg_is_weak():
    rows = {"ours": ["0.50", "0.49", "0.40", "0.39"]}
    found = failing(of_rows(rows, ["Recall@5", "Recall@10", "NDCG@5", "NDCG@10"]))
    assert [(f.where, f.sure) for f in found if f.rule == "rises with k"] == [
        ("ours, Recall@10", CERTAIN),
        ("ours, NDCG@10", WEAK),
    ]


def test_slipped_columns_are_found():
    n = 133
    recalls = [(50, 60), (57, 70), (61, 79), (66, 83), (71, 90), (75, 95)]
    rows = {}
    for i, (five, ten) in enumerate(recalls):
        ndcg = [f"0.{411 + 13 * i}", f"0.{437 + 11 * i}"]
        rows[f"row {i}"] = [share(five, n, 3), ndcg[0], share(ten, n, 3), ndcg[1]]
    for i in (1, 4):
        cells = rows[f"row {i}"]
        cells[2], cells[3] = cells[3], cells[2]
    made = of_rows(rows, ["Recall@5", "NDCG@5", "Recall@10", "NDCG@10"])
    crossed = failing(made, rule="slipped columns")
    assert [f.n for f in crossed] in ([1], [2])
    assert crossed[0].expected.startswith("recalls are shares of 133")


def test_a_change_against_its_levels():
    rows = {"base": ["0.664", "0.000"], "one": ["0.653", "-0.011"], "two": ["0.621", "-0.034"]}
    (found,) = failing(of_rows(rows, ["Overall", "Δ Overall"]), rule="change")
    assert (found.where, found.expected[:6]) == ("two, Δ Overall", "-0.043")


@pytest.mark.parametrize(
    ("rate", "said", "words"),
    [("0.1", "~7 hours", HOLDS), ("0.01", "~1 week", FAILS), ("0.01", "~3 days", HOLDS)],
)
def test_half_lives(rate, said, words):
    (found,) = findings([of_rows({rate: [said]}, ["Half-life"])])
    assert (found.rule, found.words) == ("half-life", words)


def test_rows_that_repeat_and_one_setting_with_two_values():
    head = ["Recall@5", "NDCG@5", "Recall@10", "NDCG@10"]
    given = {"dataset": "LoCoMo", "encoder": "Stella"}
    rows = {f"row {i}": [f"0.{300 + 37 * i + 11 * j}" for j in range(4)] for i in range(6)}
    first = table_of("doc", "table1", {"columns": head, "rows": rows, **given})
    again = {"row 2": [*rows["row 2"][:3], "0.999"], "other": rows["row 4"]}
    second = table_of("doc", "table2", {"columns": head, "rows": again, **given})
    found = findings([first, second])
    repeated = {f.where: f for f in found if f.rule == "printed twice"}
    assert repeated["table1: row 4 and table2: other"].found.startswith("all 4 are the same")
    assert repeated["table1: row 2 and table2: row 2"].words == FAILS
    (differs,) = [f for f in found if f.rule == "same setting" and f.words == FAILS]
    assert "ndcg@10: 0.407 and 0.999" in differs.found


def by_rule(document, rule, words=""):
    return [
        f for f in of_documents()
        if f.document == document and f.rule == rule and words in f.words
    ]  # fmt: skip


def test_known_rfmem_misprints():
    found = {f.where: f for f in by_rule("rfmem", "impossible share")}
    exchanged = found["128K, Recol. (ours), New Scenarios"]
    assert exchanged.sure == CERTAIN
    assert "0.3756 is (80 of 213)" in exchanged.found
    assert "0.4368 is (183 of 419)" in found["mpnet Recol., LongMemEval-M, Recall@5"].found
    assert "Recol., New Scenarios" in found
    (swap,) = by_rule("rfmem", "exchanged cells")
    assert swap.where == "Study Consult, 128k, RF-Mem; Music Rec, 128k, RF-Mem"
    wholes = {f.where: f.found for f in by_rule("rfmem", "whole and parts", FAILS)}
    order = "R@10 Social = 0.6267, R@10 Pref Easy = 0.6859, R@10 Pref Hard = 0.5659"
    assert order in wholes["multi-qa-MiniLM Recol., R@10 Overall"]
    assert "no order" in wholes["multi-qa-MiniLM RF-Mem, R@10 Overall"]
    lost = [f for f in by_rule("rfmem", "recomputed", FAILS) if f.table == "table7"]
    assert [f.printed for f in lost] == ["15185.1"]
