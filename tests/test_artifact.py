"""The artifact appendix, the references and the RO-Crate are those of the results and the data.

`python -m tests.written` writes all of them anew.
"""

import json
import re

import pytest
from rocrate.rocrate import ROCrate

from memrepro.data.registry import registrations
from memrepro.encode.models import registry
from memrepro.pipeline.cli import main
from memrepro.provenance import artifact, cite, crate, places
from memrepro.provenance.places import plan
from memrepro.report.profile import Metrics
from tests.written import ROOT, WRITTEN


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_is_current(name):
    shown = (ROOT / name).read_text(encoding="utf-8")
    assert shown.split() == WRITTEN[name]().split(), "run python -m tests.written"


def test_each_claim_has_a_check_that_gives_its_number(capsys, metrics_of_rfmem, monkeypatch):
    """One command of each kind of table is run; all name cells that are there."""
    monkeypatch.setattr("memrepro.report.profile.metrics_file", lambda profile: metrics_of_rfmem)
    monkeypatch.setattr(places, "metrics_of", Metrics)  # without a memory of other tests'
    checks = [
        (check, value)
        for paper in ("rfmem", "findings")
        for claim in artifact.claims("open", paper)
        for check, value in claim.checks.items()
    ]
    assert len(checks) > 10
    why, value = next((c, v) for c, v in checks if c.startswith("memrepro why") and "table2" in c)
    assert main(_arguments(why)) == 0
    assert value in capsys.readouterr().out
    for check, _ in checks:
        assert check.startswith("memrepro why") or (ROOT / check).is_file()


def _arguments(command):
    found = re.findall(r'"([^"]+)"|(\S+)', command)
    return [quoted or bare for quoted, bare in found][1:]


def test_everything_that_runs_has_a_reference():
    known = cite.references()
    keys = {cite.key_of_dataset(name) for name in registrations()}
    keys |= {key for kind in ("documents", "encoders", "methods") for key in known[kind].values()}
    assert keys == set(known["entries"])
    assert set(registry()) == set(known["encoders"])
    assert {one.method for one in plan().runs.values()} - {"dense"} == set(known["methods"])
    assert all({"type", "title", "author"} <= set(entry) for entry in known["entries"].values())
    unnamed = {key for key, entry in known["entries"].items() if "not named" in entry["author"]}
    assert unnamed == {"tieredmemory"}  # whose copy names nobody


def test_a_table_cites_what_its_cells_name(capsys):
    table = ("open", "rfmem", "table2")
    document, data, encoder = "rfmem2026", "tan2025personabench", "reimers2019sbert"
    assert cite.used_by(*table)[:3] == [document, data, encoder]
    assert cite.used_by(*table)[-1] == cite.PROJECT
    assert "robertson2009bm25" in cite.used_by(*table)
    assert "robertson2009bm25" not in cite.used_by(*table, "mpnet Recol.")
    assert main(["cite", "rfmem:table2:mpnet Recol."]) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"@\w+\{(\w+),", printed) == [document, data, encoder, cite.PROJECT]
    assert "Zhang, Yingyi and Li, Junyi" in printed
    assert main(["cite", "rfmem"]) == 1


def test_the_crate_is_one_that_the_library_reads(tmp_path):
    made = json.loads(crate.as_json())
    found = ROCrate(made)
    assert found.mainEntity.id == "dvc.yaml"
    for entity in found.get_entities():
        if entity.type == "File":
            assert (ROOT / entity.id).is_file(), entity.id
    based = {one.id for one in found.dereference("results/open/")["isBasedOn"]}
    used = {one.dataset for one in plan().runs.values() if one.profile == "open"}
    assert based == {f"#{name}" for name in used}
