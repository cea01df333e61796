"""Every data file that the full profile downloads, in its own schema, at any scale."""

from pathlib import Path

from memrepro.data.personabench import ROOT
from memrepro.errors import MemreproError
from memrepro.rehearse.contexts import write_contexts
from memrepro.rehearse.haystacks import write_haystacks
from memrepro.rehearse.persons import write_persons


def write_data(folder: Path, scale: float, seed: int = 17) -> None:
    """Write the files at the registry's paths below a folder.

    LongMemEval's oracle, S and M; PersonaBench at each noise level; PersonaMem 32k, 128k and 1M.
    They have the keys, types, lengths and oddities of the real files, and none of their texts.

    Args:
        folder: where the registry's paths begin.
        scale: of the number of questions, persons' texts and contexts; 1 is the true size, and
            1/50 has ten questions of LongMemEval, with each type and oddity once. Below that
            haystacks and contexts are shorter too.
        seed: another one gives other texts.

    Raises:
        MemreproError: if the scale is not above 0 and at most 1, or a file cannot be written.
    """
    if not 0 < scale <= 1:
        raise MemreproError(f"a rehearsal's scale is above 0 and at most 1, not {scale!r}")
    folder.mkdir(parents=True, exist_ok=True)
    write_haystacks(folder, scale, seed)
    write_persons(folder / ROOT, scale, seed)
    write_contexts(folder / "personamem", scale, seed)
