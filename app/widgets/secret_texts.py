"""Where secrets are kept, in the same words everywhere."""

from app.text.language import tr
from mlx_engine.contract.secrets import all_saved, is_available, is_reference


def secrets_kept() -> str:
    """Return where secrets that are entered now will be kept."""
    if is_available():
        return tr("Secrets are stored in the keychain.")
    return tr("Secrets are kept only until you quit, because no keychain is available.")


def secret_kept(secret: str = "") -> str:
    """Return where a saved secret is kept, or one that is entered now."""
    if all_saved({secret}) if is_reference(secret) else is_available():
        return tr("Stored in the keychain.")
    return tr("Kept only until you quit, because no keychain is available.")
