"""RO-Crate metadata of the repository: the artifact, its data sets, profiles and workflow.

Written with the `rocrate` library, which is a dependency for development. What is in the crate
follows from CITATION.cff, params.yaml and the registry of downloads, so that it is the same on
every machine.
"""

import json

from memrepro.data.registry import Registration, registrations
from memrepro.files.atomic import read_yaml, root
from memrepro.provenance.cite import key_of_dataset, references
from memrepro.provenance.places import is_evaluated, plan
from memrepro.study.plan import PROFILES

FILE = "ro-crate-metadata.json"
_LICENCE = "https://www.apache.org/licenses/LICENSE-2.0"
_PARTS = {
    "params.yaml": "What runs: data sets, studies, evaluation",
    "requirements.lock": "Every package with its hashes",
    "docs/artifact.md": "The artifact appendix: claims, how to check each, installation",
    "README.md": "What was found, commands",
}


def as_json() -> str:
    """The metadata as the text of `ro-crate-metadata.json`."""
    from rocrate.model.computerlanguage import ComputerLanguage
    from rocrate.model.contextentity import ContextEntity
    from rocrate.model.person import Person
    from rocrate.rocrate import ROCrate

    said = read_yaml(root() / "CITATION.cff")
    crate = ROCrate()
    crate.name, crate.description = said["title"], said["abstract"]
    crate.license, crate.keywords = _LICENCE, said["keywords"]
    # The library writes the moment.
    crate.root_dataset["datePublished"] = str(said["date-released"])
    crate.root_dataset["version"] = said["version"]
    crate.creator = [
        crate.add(Person(crate, f"#author-{number}", {"name": author["name"]}))
        for number, author in enumerate(said["authors"], start=1)
    ]
    language = ComputerLanguage(
        crate, "#dvc", {"name": "DVC", "url": {"@id": "https://dvc.org/"}}
    )  # fmt: skip
    crate.add_workflow(
        root() / "dvc.yaml", "dvc.yaml", main=True, lang=crate.add(language),
        properties={"name": "The pipeline: prepare, embed, retrieve, evaluate, report, verify"},
    )  # fmt: skip
    for path, description in _PARTS.items():
        crate.add_file(root() / path, path, properties={"description": description})
    for profile in filter(is_evaluated, PROFILES):
        used = {one.dataset for one in plan().runs.values() if one.profile == profile}
        crate.add_directory(
            None, f"results/{profile}/",
            properties={
                "name": f"Results of the profile {profile}",
                "description": "Rankings, gold ids, tables, figures, reports; manifest.json has "
                "the digest of each",
                "isBasedOn": [{"@id": f"#{one}"} for one in plan().datasets if one in used],
            },
        )  # fmt: skip
    known = registrations()
    for key in plan().datasets:
        crate.add(ContextEntity(crate, f"#{key}", _dataset(known[key])))
    return json.dumps(crate.metadata.generate(), indent=2, ensure_ascii=False) + "\n"


def _dataset(one: Registration) -> dict[str, object]:
    """A data set that the results are based on, by its registration; its files are not here."""
    url = references()["entries"][key_of_dataset(one.key)].get("url")
    found: dict[str, object] = {
        "@type": "Dataset", "name": one.key, "version": one.edition, "license": one.licence,
        "identifier": one.identity, "citation": one.citation,
    }  # fmt: skip
    return found | ({"url": one.homepage} if one.homepage else {}) | (
        {"sameAs": url} if url else {}
    )  # fmt: skip
