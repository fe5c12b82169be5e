"""`slipstream chat`: a conversation in the terminal."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mlx_engine.cli import arguments, compare, generate
from mlx_engine.cli.console import ask, note
from mlx_engine.cli.documents import AutomaticPassages
from mlx_engine.cli.session import cancellable, open_pair
from mlx_engine.cli.tools import TerminalTools
from mlx_engine.contract.attached_images import read_image
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, PairInfo
from mlx_engine.contract.files import home_path
from mlx_engine.contract.limits import check_images
from mlx_engine.contract.requests import AttachedImage, Compare, GenerationRequest, Message, ToolCall
from mlx_engine.formats.calls import new_id
from mlx_engine.mcp.record import messages_of
from mlx_engine.mcp.tool_turn import ToolTurn

HELP = """\
/dflash on|off   turn DFlash on or off
/compare         answer the last question again with and without DFlash
/image FILE      show the model an image with the next message; without FILE, remove it
/tools           list the tools, and the tokens that they take
/system TEXT     set the system prompt; without TEXT, remove it
/new             start a new chat
/quit            quit (also Ctrl-D, or Ctrl-C at the prompt)
Ctrl-C           stop the reply"""


def run(args: argparse.Namespace, client: EngineClient) -> int:
    arguments.check_text(args.system)
    info = open_pair(client, args, calibrated=True)
    with suppress(ImportError):
        import readline  # noqa: F401  # adds editing and an unsaved history to `input`
    tools = TerminalTools(args, asks=sys.stdin.isatty(), can_call=info.can_call_tools)
    passages = AutomaticPassages(args.documents, client, info) if args.documents and not info.can_call_tools else None
    try:
        tools.connect()
        Conversation(client, info, args, tools, passages).run()
    finally:
        tools.close()
        if passages is not None:
            passages.close()
    return 0


class Conversation:
    """A chat in the terminal: its messages and decoding options."""

    def __init__(
        self,
        client: EngineClient,
        info: PairInfo,
        args: argparse.Namespace,
        tools: TerminalTools,
        passages: AutomaticPassages | None = None,
    ) -> None:
        self._client, self._info, self._tools, self._passages = client, info, tools, passages
        self._chat = new_id()
        self._system = args.system
        self._messages: list[Message] = []
        self._images: tuple[AttachedImage, ...] = ()  # of the next message
        self._last: GenerationRequest | None = None
        self._options = arguments.options(args, "plain" if info.why_plain or args.mode == "plain" else "dflash")

    def run(self) -> None:
        at_terminal = sys.stdin.isatty()
        if at_terminal:
            state = f"plain: {self._info.why_plain}" if self._info.why_plain else f"DFlash {self._on_or_off}"
            note(f"Chat with {self._info.name} ({state}). Type /help for commands.")
        while True:
            try:
                line = ask("› " if at_terminal else "").strip()
            except (EOFError, KeyboardInterrupt):
                if at_terminal:
                    note("")
                return
            except UnicodeDecodeError:
                note("This line isn't valid UTF-8 text.")
                continue
            if line == "/quit":
                return
            try:
                if line.startswith("/"):
                    self._command(*line[1:].split(maxsplit=1))
                elif line:
                    self._answer(arguments.check_text(line))
            except UserError as error:
                note(str(error))
            except KeyboardInterrupt:  # pressed twice: abandon the reply, keep the chat
                note("Stopped.")

    @property
    def _on_or_off(self) -> str:
        return "on" if self._options.mode == "dflash" else "off"

    def _answer(self, text: str) -> None:
        """Answer a message, then add message and reply to the chat."""
        content = text if self._passages is None else self._passages.added_to(text)
        question = Message("user", content, images=self._images)
        system = (Message("system", self._system),) if self._system else ()
        request = replace(self._options, messages=(*system, *self._messages, question), foreground=True)
        turn = self._tools.turn(request, self._chat, self._info.can_see)
        answer = thinking = ""
        kept = False
        try:
            while turn.has_next:
                self._last = request = turn.request(answer, thinking)
                turn.submitted()
                reply = generate.show(_observed(cancellable(self._client, request), turn), printing=True)
                note(generate.stats_line(reply.stats, reply.reason, sampled=request.sampling.temperature > 0))
                answer, thinking = answer + reply.text, thinking + reply.thinking
                kept = kept or bool(reply.text) or reply.reason != "cancelled"
                calls = turn.replied(reply.reason, answer, thinking)
                turn.closed()
                self._tools.make_calls(turn, calls)
        finally:  # what was called stays in the chat, even after an error
            turn.stop()
            if kept:
                self._images = ()
                self._messages += [question, *messages_of(answer, thinking, turn.calls)]

    def _command(self, name: str = "", rest: str = "") -> None:
        match name, rest.strip():
            case "help", _:
                note(*HELP.splitlines())
            case "dflash", ("on" | "off") as wanted:
                if wanted == "on" and self._info.why_plain:
                    raise UserError("dflash_unavailable", "DFlash isn't available: {reason}.", reason=str(self._info.why_plain))
                self._options = replace(self._options, mode="dflash" if wanted == "on" else "plain")
                note(f"DFlash is {self._on_or_off}.")
            case "dflash", _:
                note(f"DFlash is {self._on_or_off}. Type /dflash on or /dflash off to change it.")
            case "compare", _:
                self._compare()
            case "image", "":
                self._images = ()
                note("Images removed.")
            case "image", file:
                self._images = (*self._images, self._seen(home_path(file)))
                note(f"The next message shows {', '.join(f'“{image.name}”' for image in self._images)}.")
            case "tools", _:
                self._tools.show(self._client)
            case "system", text:
                self._system = arguments.check_text(text)
                note("System prompt set." if text else "System prompt removed.")
            case "new", _:
                self._messages, self._last, self._chat, self._images = [], None, new_id(), ()
                note("New chat.")
            case _:
                note(f"“/{name}” isn't a command. Type /help for commands.")

    def _seen(self, file: Path) -> AttachedImage:
        """Return an image from a file, if the model can see it."""
        image = read_image(file)
        check_images((Message("user", "", images=(image,)),), self._info.can_see, self._info.why_cannot_see)
        return image

    def _compare(self) -> None:
        if self._last is None:
            raise UserError("nothing_to_compare", "No reply to compare yet. Ask a question first.")
        if self._info.why_plain:
            raise UserError("dflash_unavailable", "DFlash isn't available: {reason}.", reason=str(self._info.why_plain))
        result = compare.show(cancellable(self._client, Compare((self._last,))), printing=True)
        note(*(compare.table(result) if result else (compare.STOPPED,)))


def _observed(events: Iterator[Event], turn: ToolTurn) -> Iterator[Event]:
    """Yield events, and report their calls to the turn."""
    for event in events:
        if isinstance(event, ToolCall):
            turn.called(event)
        yield event
