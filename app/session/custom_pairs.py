"""Work for the Custom Pair dialog, which asks the hub or reads folders."""

from app.session.model_list import Candidate, Variant
from app.session.pair_survey import Estimator, check_hub
from app.text.language import sentences, tr, translated
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import home_path
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.matching import NoDrafter, NotForDFlash, find_drafter, find_local_drafter
from mlx_engine.models.files.chat_template import folder_template_problem
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.loadable import check_loadable
from mlx_engine.models.library.catalog import load_catalog
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import CustomPair, Pair, add_custom_pair


def is_folder(name: str) -> bool:
    """Return whether a name is a folder's path rather than a repo."""
    return name.startswith(("/", "~", "."))


def check_pair(target: str, drafter: str) -> str:
    """Return why two repos or folders can't chat, or an empty string.

    Raises:
        UserError: they can't be used.
    """
    if is_folder(target):
        folder = home_path(target)
        check_loadable(folder, home_path(drafter) if drafter else None)
        problem = folder_template_problem(folder, read_config(folder))
    else:
        found = check_hub(Variant(pair=Pair(target, drafter or None)))
        if found.problem:
            raise UserError.of(found.problem)
        problem = found.chat_problem
    return translated(problem) if problem else ""


def drafter_for(target: str) -> str:
    """Find a drafter for a target on disk and, if the target is a repo, on the hub."""
    try:
        if is_folder(target):
            return str(find_local_drafter(local_models(), home_path(target)))
        return find_drafter(Hub(), load_catalog(), local_models(), target).repos[-1]
    except NoDrafter as error:
        reason, advice = error.text, tr("Enter a drafter, or leave the field empty for plain decoding.")
    except NotForDFlash as error:
        reason, advice = error.text, tr("Leave the drafter empty for plain decoding.")
    raise UserError.of(EngineText("window", sentences(translated(reason), advice)))


def add_pair(target: str, drafter: str, name: str) -> Candidate:
    """Save a pair of two repos or two folders, and return its row."""
    if is_folder(target):
        paths = [str(home_path(path).absolute()) for path in (target, drafter) if path]
        pair = CustomPair(paths[0], paths[1] if drafter else None, name)
        variant = Estimator().from_folders(pair.folders, Variant())
    else:
        pair = CustomPair(target, drafter or None, name)
        variant = check_hub(Variant(pair=pair.pair))
    add_custom_pair(pair)
    return Candidate.of_custom(pair, variant)
