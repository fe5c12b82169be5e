"""The branch of a chat that is shown, as Markdown for people to read."""

import time

from app.conversations.chat_tree import Chat
from app.conversations.wording import stop_words


def to_markdown(chat: Chat) -> str:
    """Title, date, system prompt, then each message under its speaker."""
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(chat.created))
    parts = [f"# {chat.title}", f"*{day}*"]
    if chat.settings.system.strip():
        parts += ["## System prompt", chat.settings.system.strip()]
    for turn in chat.turns:
        if turn.asked is not None:
            parts += ["## You", turn.prompt, *(f"*(attached: {one.name})*" for one in turn.asked.attachments)]
        if turn.reply.thinking.strip():
            parts += ["<details><summary>Thoughts</summary>", turn.reply.thinking.strip(), "</details>"]
        if turn.answered is not None:
            who = turn.reply.origin or "Slipstream"
            parts += [f"## {who}", turn.reply.answer.strip()]
            if remark := turn.reply.error or stop_words(turn.reply):
                parts.append(f"*({remark})*")
    return "\n\n".join(part for part in parts if part) + "\n"
