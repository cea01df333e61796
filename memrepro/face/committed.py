"""The committed results: found in a clone of the repository, else missed in one sentence."""

from memrepro.errors import MemreproError
from memrepro.files.atomic import root
from memrepro.study.params import Plan, load_plan


def committed_plan(what: str) -> Plan:
    """`params.yaml` of the repository that the working folder lies in.

    Args:
        what: asks for it, for the error, such as "run('x')".

    Raises:
        MemreproError: outside a repository, whose committed results the package does not bring.
    """
    check_repository(what)
    return load_plan()


def check_repository(what: str) -> None:
    """Refuse to go on outside a repository; see `committed_plan`."""
    try:
        root()
    except MemreproError as error:
        raise MemreproError(
            f"{what} reads the committed results, which the installed package does not hold: call "
            "it from a folder of a clone of the repository"
        ) from error
