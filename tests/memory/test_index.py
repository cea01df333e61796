"""The index holds exactly the wanted ids, finds by cosine, and forgets bytes."""

import lancedb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.memory.index import TABLES, VectorIndex
from tests.memory.store_made import all_bytes, version

D = 16


def vectors_of(ids):
    """A vector for each id, of any length."""
    return np.array([np.random.default_rng(int(key[1:])).normal(size=D) for key in ids], np.float32)


@pytest.fixture
def index(tmp_path):
    made = VectorIndex(tmp_path / "vectors.lance", D)
    for table in TABLES:
        made.level(table, [], vectors_of)
    return made


def test_the_nearest_are_those_of_the_largest_cosine(index):
    ids = [f"v{i}" for i in range(200)]
    index.level("segments", ids, vectors_of)
    query = vectors_of(["v999"])[0]
    vectors = vectors_of(ids).astype(float)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    best = [ids[i] for i in np.argsort(-cosines)]
    found, unit = index.nearest("segments", query, 10)
    assert found == best[:10]
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(10), abs=1e-6)
    assert sorted(index.nearest("segments", query, None)[0]) == sorted(ids)
    assert index.nearest("facts", query, None)[0] == []


@settings(max_examples=8)
@given(st.lists(st.sets(st.integers(0, 30)), max_size=5))
def test_level_leaves_exactly_what_is_wanted(tmp_path_factory, sets):
    index = VectorIndex(tmp_path_factory.mktemp("index") / "vectors.lance", D)
    asked = []

    def noted(ids):
        asked.extend(ids)
        return vectors_of(ids)

    before = set()
    for numbers in sets:
        wanted = {f"v{n}" for n in numbers}
        asked.clear()
        index.level("facts", wanted, noted)
        assert index.ids("facts") == wanted
        assert set(asked) == wanted - before
        before = wanted


def test_an_approximate_index_is_built_from_a_number_of_rows_on_and_taken_in_and_down(
    index, tmp_path, monkeypatch
):
    monkeypatch.setattr("memrepro.memory.index._PARTITIONS", 20)
    monkeypatch.setattr("memrepro.memory.index._PROBES", 3)
    ids = [f"v{i}" for i in range(1000)]
    index.level("segments", ids, vectors_of)

    def built():
        table = lancedb.connect(tmp_path / "vectors.lance").open_table("segments")
        return [(i.index_type, table.index_stats(i.name)) for i in table.list_indices()]

    index.approximate(1001)
    assert built() == []
    index.approximate(1000)
    ((kind, stats),) = built()
    assert kind.upper().replace("_", "") == "IVFSQ"
    assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (1000, 0)
    queries = vectors_of([f"v{i}" for i in range(2000, 2020)])
    vectors = vectors_of(ids).astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = []
    for query in queries:
        best = [ids[i] for i in np.argsort(-(vectors @ query))[:10]]
        assert index.nearest("segments", query, 10, exact=True)[0] == best
        assert len(index.nearest("segments", query, None)[0]) == 1000
        shares.append(len(set(index.nearest("segments", query, 10)[0]) & set(best)) / 10)
    assert 0.2 < np.mean(shares) < 1
    # What comes later is found as before.
    index.change("segments", ["v3000"], ["v3"], vectors_of)
    assert index.nearest("segments", vectors_of(["v3000"])[0], 1)[0] == ["v3000"]
    assert index.nearest("segments", vectors_of(["v3"])[0], 1, exact=True)[0] != ["v3"]
    index.compact()
    gone = vectors_of(["v17"])[0]
    index.change("segments", [], ["v17"], vectors_of)
    index.erase(None)
    assert built() == []
    assert gone.tobytes() not in all_bytes(tmp_path)
    index.approximate(500)
    assert len(built()) == 1
    index.approximate(5000)
    assert built() == []
    # The bytes of what is removed are not in what was built either.
    index.approximate(500)
    index.level("segments", ids[500:], vectors_of)
    index.erase(None)
    gone = (vectors[20] / np.linalg.norm(vectors[20])).astype(np.float32).tobytes()
    assert gone[:16] not in all_bytes(tmp_path)


@pytest.mark.parametrize("twin", [False, True])
def test_what_is_removed_is_overwritten_where_it_stands(index, tmp_path, twin):
    ids = [f"v{i:031d}" for i in range(300)]
    vectors = dict(zip(ids, vectors_of(ids), strict=True))
    if twin:
        vectors[ids[9]] = vectors[ids[7]]
    index.level("segments", ids, lambda some: np.array([vectors[key] for key in some]))
    index.erase(None)
    before = version(tmp_path)
    traces = index.traces("segments", [ids[7]])
    assert traces == [ids[7].encode(), vectors[ids[7]].tobytes()]
    assert all(trace in all_bytes(tmp_path) for trace in traces)
    index.change("segments", [], [ids[7]], vectors_of)
    index.erase(traces)
    assert version(tmp_path) > before  # and not written anew
    assert [trace in all_bytes(tmp_path) for trace in traces] == [False, twin]
    found, unit = index.all("segments")
    assert sorted(found) == sorted({*ids} - {ids[7]})
    expected = np.array([vectors[key] / np.linalg.norm(vectors[key]) for key in found])
    np.testing.assert_allclose(unit, expected, rtol=1e-5)
    index.change("segments", [ids[7]], [ids[5]], vectors_of)
    index.compact()
    assert len(index.all("segments")[0]) == 299


@pytest.mark.parametrize("approximate", [False, True])
def test_a_reader_that_kept_its_connection_sees_tables_written_anew(tmp_path, approximate):
    writer, reader = (VectorIndex(tmp_path / "vectors.lance", D) for _ in range(2))
    n = 600 if approximate else 40

    def fill(first):
        for table in TABLES:
            writer.level(table, [f"v{i}" for i in range(first, first + n)], vectors_of)
        if approximate:
            writer.approximate(n)

    def found():
        query = vectors_of(["v999"])[0]
        return set(reader.nearest("segments", query, n)[0]) | set(reader.all("segments")[0])

    fill(0)
    assert found() <= {f"v{i}" for i in range(n)}
    for first in (1000, 2000, 3000):
        # The tables begin again at their first version, in a folder of the same name.
        writer.clear()
        fill(first)
        assert found() <= {f"v{i}" for i in range(first, first + n)}
        assert reader.nearest("segments", vectors_of([f"v{first}"])[0], 1)[0] == [f"v{first}"]
        writer.erase(None)
        assert reader.nearest("segments", vectors_of([f"v{first}"])[0], 1)[0] == [f"v{first}"]
