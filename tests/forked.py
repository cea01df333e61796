"""Children of this process, which has imported all that they need."""

from multiprocessing import get_context


def forked(work, *arguments):
    """A child at its work; it ends with it, or by `kill()`, which is SIGKILL."""
    child = get_context("fork").Process(target=work, args=arguments)
    child.start()
    return child
