"""What was found across the documents: the study on the same data, and the claims that fell."""

from pathlib import Path

from memrepro.audit.claims import read_claims
from memrepro.files import paths
from memrepro.papers.findings import confirmatory, factorial, sample, study_tables
from memrepro.papers.findings.claims import class_cells, fallen_cells
from memrepro.papers.findings.study import run_study
from memrepro.report.tables import write_cells


def write_report(profile: str, folder: Path) -> list[Path]:
    """Write the tables and figures into a folder; return their paths.

    The claims are read from the tables that the other reports of the profile have written.
    """
    study, claims = run_study(profile), read_claims(paths.results(profile))
    added, best = factorial.run_factorial(profile)
    tables = {
        "factorial": factorial.factorial_cells(added),
        "factorial_best": factorial.best_cells(best),
        "confirmatory": confirmatory.family_cells(confirmatory.run_family(study)),
        "least_detectable": confirmatory.detectable_cells(study),
        "study": study_tables.study_cells(study),
        "study_counted": study_tables.count_cells(study),
        "study_budgets": study_tables.budget_cells(study),
        "study_choices": study_tables.choice_cells(study),
        "study_costs": study_tables.cost_cells(study),
        "study_ties": study_tables.tie_cells(study),
        "claims_counted": class_cells(claims),
        "claims_fallen": fallen_cells(claims),
    }
    return [
        *(path for name, cells in tables.items() for path in write_cells(cells, folder, name)),
        *factorial.draw(added, folder),
        *(sample.write_sample(profile, folder) if profile == "sample" else []),
    ]
