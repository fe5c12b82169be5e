"""The pages and headings of Help that explain errors."""

CHANGES_PAGE = "changelog"
CONNECTING_PAGE = "remote#how-do-i-connect-in-the-window"
FULL_CONTEXT_PAGE = "guide#what-happens-when-the-context-is-full"
LOADING_PAGE = "troubleshooting#a-pair-doesnt-load"
LOST_CONNECTION_PAGE = "remote#what-if-the-connection-breaks"
MCP_JSON_PAGE = "tools#what-is-in-mcpjson"
SEVERAL_MACS_PAGE = "models#can-several-macs-run-a-model-together"
TUNING_PAGE = "train-a-drafter"
_GATED = "models#can-i-use-gated-or-private-models"
_OFFLINE = "privacy#how-do-i-keep-it-offline"
PAGES_BY_CODE = {
    "context_exceeded": FULL_CONTEXT_PAGE,
    "context_full": FULL_CONTEXT_PAGE,
    "exact_with_images": "exactness#what-does-exact-mode-promise",
    "gpu_failed": "troubleshooting#the-gpu-failed",
    "hub_offline": _OFFLINE,
    "internal": "troubleshooting#how-do-i-report-a-problem",
    "no_chat_template": "models#can-i-use-base-models",
    "offline": _OFFLINE,
    "offline_command": _OFFLINE,
    "remote_context_exceeded": FULL_CONTEXT_PAGE,
    "remote_local_network": "troubleshooting#no-route-to-host",
    "remote_internal": "troubleshooting#how-do-i-report-a-problem",
    "repo_gated": _GATED,
    "repo_gated_for_account": _GATED,
    "repo_not_found_or_private": _GATED,
    "sees_no_images": "models#which-models-see-images",
    "token_rejected": _GATED,
    "token_without_access": _GATED,
}


def help_page(code: str, otherwise: str = "") -> str:
    """Return the page about errors with a code, such as "guide#how-do-i-chat".

    Args:
        otherwise: what to return if no page explains just this error.
    """
    if "shard" in code or code.startswith(("worker_", "ring_")):
        return SEVERAL_MACS_PAGE
    return PAGES_BY_CODE.get(code) or (LOST_CONNECTION_PAGE if code.startswith("remote_") else otherwise)
