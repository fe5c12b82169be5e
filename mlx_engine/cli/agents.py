"""The coding agents that can use the server, and the commands that start them.

The user's own settings of the agents are neither used nor changed.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template
from typing import Any

FOLDER = "$folder"
_MOST_OUTPUT = 8192  # tokens of a reply that agents plan for, if the context has room for them


@dataclass(frozen=True)
class Agent:
    """A coding agent, and what it needs to use the server.

    In all fields, `$url`, `$key`, `$model`, `$context`, and `$output` are replaced. So is `$folder`, except in files.

    Attributes:
        install: command that installs the agent.
        environment: environment variables. Empty values hide the user's.
        files: contents of files in a temporary folder, in JSON or TOML.
    """

    title: str
    install: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


AGENTS = {
    "claude": Agent(
        "Claude Code",
        "npm install -g @anthropic-ai/claude-code",
        environment={
            "CLAUDE_CONFIG_DIR": FOLDER,
            "ANTHROPIC_BASE_URL": "$url",
            "ANTHROPIC_AUTH_TOKEN": "$key",
            "ANTHROPIC_API_KEY": "",
            "ANTHROPIC_MODEL": "$model",
            "ANTHROPIC_DEFAULT_OPUS_MODEL": "$model",
            "ANTHROPIC_DEFAULT_SONNET_MODEL": "$model",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": "$model",
            "CLAUDE_CODE_USE_BEDROCK": "",
            "CLAUDE_CODE_USE_VERTEX": "",
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "$context",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "$output",
            "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        files={
            ".claude.json": '{"hasCompletedOnboarding": true}\n',
            # By default, Claude Code lets the model judge which commands are risky
            "settings.json": '{"permissions": {"defaultMode": "default"}}\n',
        },
    ),
    "codex": Agent(
        "Codex",
        "npm install -g @openai/codex",
        environment={"CODEX_HOME": FOLDER, "SLIPSTREAM_API_KEY": "$key"},
        files={
            "config.toml": """\
model = "$model"
model_provider = "slipstream"
model_context_window = $context

[model_providers.slipstream]
name = "Slipstream"
base_url = "$url/v1"
env_key = "SLIPSTREAM_API_KEY"
wire_api = "responses"
"""
        },
    ),
    "opencode": Agent(
        "OpenCode",
        "npm install -g opencode-ai",
        environment={
            "OPENCODE_CONFIG": f"{FOLDER}/opencode.json",
            "XDG_CONFIG_HOME": f"{FOLDER}/config",
            "XDG_DATA_HOME": f"{FOLDER}/data",
            "XDG_STATE_HOME": f"{FOLDER}/state",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        files={
            "opencode.json": """\
{
  "autoupdate": false,
  "share": "disabled",
  "model": "slipstream/$model",
  "small_model": "slipstream/$model",
  "provider": {"slipstream": {
    "npm": "@ai-sdk/openai-compatible",
    "name": "Slipstream",
    "options": {"baseURL": "$url/v1", "apiKey": "$key"},
    "models": {"$model": {"name": "$model", "tool_call": true, "reasoning": true,
                          "attachment": $sees, "modalities": {"input": $inputs, "output": ["text"]},
                          "limit": {"context": $context, "output": $output}}}
  }}
}
"""
        },
    ),
    "pi": Agent(
        "pi",
        "npm install -g @earendil-works/pi-coding-agent",
        arguments=("--provider", "slipstream", "--model", "$model"),
        environment={"PI_CODING_AGENT_DIR": FOLDER, "PI_OFFLINE": "1"},
        files={
            "models.json": """\
{"providers": {"slipstream": {
  "baseUrl": "$url/v1",
  "api": "openai-completions",
  "apiKey": "$key",
  "models": [{"id": "$model", "name": "$model", "reasoning": true, "input": $inputs,
              "contextWindow": $context, "maxTokens": $output,
              "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]
}}}
"""
        },
    ),
    "qwen": Agent(
        "Qwen Code",
        "npm install -g @qwen-code/qwen-code",
        arguments=("--auth-type", "openai"),
        environment={
            "QWEN_HOME": FOLDER,
            "OPENAI_BASE_URL": "$url/v1",
            "OPENAI_API_KEY": "$key",
            "OPENAI_MODEL": "$model",
        },
        files={
            "settings.json": """\
{
  "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false},
  "model": {"generationConfig": {"contextWindowSize": $context}}
}
"""
        },
    ),
    "aider": Agent(
        "aider",
        "uv tool install --python 3.12 aider-chat",
        environment={
            "AIDER_MODEL": "openai/$model",
            "AIDER_OPENAI_API_BASE": "$url/v1",
            "AIDER_OPENAI_API_KEY": "$key",
            "AIDER_MODEL_METADATA_FILE": f"{FOLDER}/models.json",
            "AIDER_ANALYTICS": "false",
            "AIDER_CHECK_UPDATE": "false",
        },
        files={
            "models.json": """\
{"openai/$model": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": $context, "max_output_tokens": $output,
                   "input_cost_per_token": 0, "output_cost_per_token": 0}}
"""
        },
    ),
}


@dataclass(frozen=True)
class AgentServer:
    """A server, and the loaded pair's model ID, context length, and sight."""

    url: str
    key: str
    model: str
    context: int
    can_see: bool = False

    def fill(self, text: str) -> str:
        """Fill the placeholders in an argument or a variable's value, except `$folder`."""
        return Template(text).safe_substitute(self._values())

    def fill_file(self, text: str) -> str:
        """Return a file in JSON or TOML."""
        shown = {name: json.dumps(value) for name, value in self._values().items()}
        escaped = {name: text[1:-1] if text.startswith('"') else text for name, text in shown.items()}
        return Template(text).substitute(escaped)

    def _values(self) -> dict[str, Any]:
        output = min(_MOST_OUTPUT, self.context // 4)
        found = {"url": self.url, "key": self.key, "model": self.model, "context": self.context, "output": output}
        return found | {"sees": self.can_see, "inputs": ["text", "image"] if self.can_see else ["text"]}


def shell(name: str, server: AgentServer) -> str:
    """Return commands that start an agent in any POSIX shell.

    They contain the key, and delete the temporary folder that they create. The folder is the one that `slipstream launch` creates.
    """
    agent = AGENTS[name]
    lines = [
        "(",
        f"folder=${{TMPDIR:-/tmp}}; folder=${{folder%/}}/slipstream-{name}; number=1",
        'until mkdir -m 700 "$folder-$number" 2> /dev/null; do',
        '[ "$number" -lt 99 ] || { mkdir "$folder-$number"; exit 1; }',
        "number=$((number + 1)); done",
        "folder=$folder-$number; trap 'rm -rf \"$folder\"' EXIT",
    ]
    for file, text in agent.files.items():
        lines += [f"cat > \"$folder/{file}\" <<'END'", server.fill_file(text) + "END"]
    lines += [f"export {variable}={_quoted(server.fill(value))}" for variable, value in agent.environment.items()]
    lines += [" ".join((name, *(_quoted(server.fill(argument)) for argument in agent.arguments))), ")"]
    return "\n".join(lines)


def _quoted(value: str) -> str:
    if value.startswith(FOLDER):
        return f'"$folder{value.removeprefix(FOLDER)}"'
    return shlex.quote(value)
