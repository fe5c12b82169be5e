"""`slipstream chat`: a conversation in the terminal."""

import argparse
import dataclasses
import sys
from contextlib import suppress

from mlx_engine.errors import UserError
from mlx_engine.events import PairInfo
from mlx_engine.requests import CompareRequest, GenerationRequest, Message
from mlx_engine.terminal import arguments, compare, controls, interrupt, reply_printer
from mlx_engine.terminal.pair import Engine, MakeEngine, open_pair

HELP = """\
/dflash on|off   decode with DFlash or plainly
/compare         answer the last question again, plainly and with DFlash
/system TEXT     instructions that stand before the chat; without TEXT none
/new             begin a new chat
/quit            leave (so do Ctrl-D and, while nothing is written, Ctrl-C)
Ctrl-C           stop the reply"""


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Chat until the person leaves."""
    arguments.readable(given.system)
    engine, info = open_pair(make_engine, given, calibrated=True)
    with suppress(ImportError):
        import readline  # noqa: F401  # its presence gives `input` editing and history; nothing is written to disk
    Conversation(engine, info, given).run()
    return 0


class Conversation:
    """One sitting: the messages so far and how replies are decoded."""

    def __init__(self, engine: Engine, info: PairInfo, given: argparse.Namespace) -> None:
        self._engine, self._info = engine, info
        self._system = given.system
        self._messages: list[Message] = []
        self._last: GenerationRequest | None = None
        self._options = arguments.options(given, "plain" if info.why_plain or given.mode == "plain" else "dflash")

    def run(self) -> None:
        """Read and answer, line after line."""
        at_terminal = sys.stdin.isatty()
        if at_terminal:
            state = f"plain: {self._info.why_plain}" if self._info.why_plain else f"DFlash {self._mode_words()}"
            print(f"Chat with {self._info.name} ({state}). /help lists the commands.", file=sys.stderr)
        while True:
            try:
                line = input("› " if at_terminal else "").strip()
            except (EOFError, KeyboardInterrupt):
                if at_terminal:
                    print(file=sys.stderr)
                return
            except UnicodeDecodeError:
                print("That line is not valid UTF-8 text.", file=sys.stderr)
                continue
            if line == "/quit":
                return
            try:
                if line.startswith("/"):
                    self._command(*line[1:].split(maxsplit=1))
                elif line:
                    self._answer(arguments.readable(line))
            except UserError as error:
                print(controls.visible(str(error)), file=sys.stderr)
            except KeyboardInterrupt:  # pressed twice: the reply is given up, the chat is not
                print("Stopped.", file=sys.stderr)

    def _mode_words(self) -> str:
        return "on" if self._options.mode == "dflash" else "off"

    def _answer(self, text: str) -> None:
        """Answer one message. It joins the chat only with its reply, so that a failure leaves the chat as it was."""
        question = Message("user", text)
        request = dataclasses.replace(self._options, messages=(*self._history(), question))
        self._last = request
        with interrupt.stops_reply() as cancel:
            answer = reply_printer.show(self._engine.generate(request, cancel), sys.stdout)
        reply_printer.report(answer, sampled=request.sampling.temperature > 0)
        if answer.text or answer.reason != "cancelled":
            self._messages += [question, Message("assistant", answer.text, answer.thinking)]

    def _history(self) -> tuple[Message, ...]:
        return (*([Message("system", self._system)] if self._system else []), *self._messages)

    def _command(self, name: str = "", rest: str = "") -> None:
        match name, rest.strip():
            case "help", _:
                print(HELP, file=sys.stderr)
            case "dflash", ("on" | "off") as wish:
                self._switch(wish == "on")
            case "dflash", _:
                print(f"DFlash is {self._mode_words()}. /dflash on or /dflash off changes that.", file=sys.stderr)
            case "compare", _:
                self._compare()
            case "system", text:
                self._system = arguments.readable(text)
                print("The instructions are set." if text else "There are no instructions now.", file=sys.stderr)
            case "new", _:
                self._messages, self._last = [], None
                print("A new chat.", file=sys.stderr)
            case _:
                print(f"There is no command /{name}. /help lists them.", file=sys.stderr)

    def _switch(self, on: bool) -> None:
        if on and self._info.why_plain:
            raise UserError(f"DFlash is not available: {self._info.why_plain}")
        self._options = dataclasses.replace(self._options, mode="dflash" if on else "plain")
        print(f"DFlash is {self._mode_words()}.", file=sys.stderr)

    def _compare(self) -> None:
        if self._last is None:
            raise UserError("There is no question to compare on yet. Ask one first.")
        if self._info.why_plain:
            raise UserError(f"There is nothing to compare with: {self._info.why_plain}")
        with interrupt.stops_reply() as cancel:
            result = compare.show(self._engine.compare(CompareRequest(self._last), cancel), sys.stdout)
        print(compare.table(result) if result else "Stopped; there is nothing to compare.", file=sys.stderr)
