"""The buttons and the command that read replies aloud."""

from app.rendering.speech_writer import to_speech
from app.session.commands import Command
from app.session.services import Services
from app.storage.chat_tree import Turn
from app.text.language import tr
from app.views.transcript.message_actions import MessageActions


def read_replies_aloud(actions: MessageActions, services: Services) -> None:
    """Let the buttons of replies read them."""
    read_aloud = services.read_aloud
    actions.can_read_aloud = read_aloud.available
    actions.read_aloud.connect(lambda turn: _toggle(services, turn))
    read_aloud.changed.connect(lambda: actions.set_reading(read_aloud.turn))
    actions.set_reading(read_aloud.turn)


def read_aloud_command(services: Services) -> Command:
    read_aloud, session = services.read_aloud, services.session

    def title() -> str:
        return tr("Stop Readin&g Aloud") if read_aloud.turn is not None else tr("Read Last Reply Al&oud")

    def last() -> Turn | None:
        turns = session.chat.turns
        return turns[-1] if turns and turns[-1].reply.answer and not turns[-1].reply.running else None

    def act() -> None:
        if read_aloud.turn is not None:
            read_aloud.stop()
        elif (turn := last()) is not None:
            _toggle(services, turn)

    read_aloud.changed.connect(services.commands.changed)
    return Command("read_aloud", title, act, needs=lambda: read_aloud.turn or last(), visible=read_aloud.available)


def _toggle(services: Services, turn: Turn) -> None:
    services.read_aloud.toggle(turn, to_speech(turn.reply.text))
