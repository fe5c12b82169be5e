"""A chat: what was asked and answered, in order, and what of it goes into the next request."""

from dataclasses import dataclass, field, replace

from app.conversations.reply import Reply
from mlx_engine.events import GenerationRequest, Message, Mode


@dataclass(eq=False)
class Turn:
    """One question and its reply. `request` is kept so that Compare and Try Again ask for exactly the same thing."""

    prompt: str
    request: GenerationRequest
    reply: Reply


@dataclass
class Chat:
    """Turns in order. It becomes one branch of a tree when chats are stored; nothing outside this file counts on a list."""

    turns: list[Turn] = field(default_factory=list)

    def ask(self, prompt: str, mode: Mode, thinking: bool = False, max_tokens: int = 1024) -> Turn:
        """Add a turn: the prompt after everything that was answered before it."""
        messages = (*self.history(), Message("user", prompt))
        request = GenerationRequest(messages=messages, mode=mode, thinking=thinking, max_tokens=max_tokens)
        return self._add(prompt, request)

    def ask_again(self, turn: Turn, mode: Mode) -> Turn:
        """Take a turn out and ask the same again at the end."""
        self.remove(turn)
        return self.ask(turn.prompt, mode, turn.request.thinking, turn.request.max_tokens)

    def remove(self, turn: Turn) -> None:
        """Forget a turn."""
        self.turns.remove(turn)

    def history(self) -> tuple[Message, ...]:
        """What the model is told of the past. A turn without an answer is left out: a prompt that was too long would otherwise
        make every later one too long."""
        messages: list[Message] = []
        for turn in self.turns:
            if turn.reply.answer.strip():
                messages.append(Message("user", turn.prompt))
                messages.append(Message("assistant", turn.reply.answer, turn.reply.thinking))
        return tuple(messages)

    @property
    def last_answered(self) -> Turn | None:
        """The turn that Compare repeats."""
        return next((turn for turn in reversed(self.turns) if turn.reply.stats), None)

    def _add(self, prompt: str, request: GenerationRequest) -> Turn:
        turn = Turn(prompt, request, Reply.to(request))
        self.turns.append(turn)
        return turn


def same_again(turn: Turn) -> GenerationRequest:
    """The request of a turn with the seed it was answered with."""
    seed = turn.reply.stats.seed if turn.reply.stats else turn.request.seed
    return replace(turn.request, seed=seed)
