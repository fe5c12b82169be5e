"""The commands that ask for files or a printer, or before they delete all chats."""

from functools import partial
from pathlib import Path

from PySide6.QtGui import QKeySequence
from PySide6.QtPrintSupport import QPrintDialog, QPrinter
from PySide6.QtWidgets import QFileDialog, QWidget

from app.rendering import paper
from app.session.attachment_reader import AttachmentReader
from app.session.background_work import Background
from app.session.chat_library import ChatLibrary
from app.session.commands import Command, Commands
from app.session.notice import Notice, exported
from app.storage.chat_export import write_file
from app.storage.wording import chats
from app.text.language import number, sentences, tr
from app.widgets.save_dialog import ask_save_path, confirm, file_name
from mlx_engine.contract.attached_images import SUFFIXES


class ChatFiles:
    """The dialogs for files of chats."""

    def __init__(self, window: QWidget, library: ChatLibrary, attachments: AttachmentReader, commands: Commands) -> None:
        self._window, self._library, self._attachments, self._commands = window, library, attachments, commands
        self.background = Background(window)

    def commands(self) -> tuple[Command, ...]:
        def export_title() -> str:
            count = len(self._commands.target_chats)
            return tr("&Export {count} Chats…", count=number(count)) if count > 1 else tr("&Export Chat…")

        def any_chat() -> bool:
            return bool(self._library.entries)

        def targets() -> list[str]:
            return self._commands.target_chats

        def in_project() -> list[str]:
            project = self._commands.target_project
            return [one.id for one in self._library.entries.values() if project and one.project == project]

        def project() -> str:
            return self._commands.target_project

        def export_project() -> None:
            name = self._library.projects[project()].name
            self._export_several(in_project(), tr("Export Project"), file_name(name, tr("Project")), project())

        return (
            Command("attach", tr("&Attach Files…"), self.attach, ("Ctrl+Shift+A",)),
            Command("import_chats", tr("&Import Chats…"), self.import_chats),
            Command("import_folder", tr("Import Chats from Folde&r…"), self.import_folder),
            Command("export", export_title, self.export, ("Ctrl+Shift+S",), targets),
            Command("export_project", tr("Export Pro&ject…"), export_project, needs=project),
            Command("print", tr("&Print…"), self.print_chat, QKeySequence.StandardKey.Print, lambda: len(targets()) == 1),
            Command("export_all", tr("Export A&ll Chats…"), self.export_all, needs=any_chat),
            Command("delete_all", tr("Delete A&ll Chats…"), self.delete_all, needs=any_chat),
        )

    def attach(self) -> None:
        images = " ".join(f"*{suffix}" for suffix in SUFFIXES)
        filters = (tr("Images, PDF, text, and code (*)"), tr("Images ({patterns})", patterns=images), tr("PDF (*.pdf)"))
        files, _ = QFileDialog.getOpenFileNames(self._window, tr("Attach Files"), "", ";;".join(filters))
        self._attachments.attach([Path(file) for file in files])

    def export(self) -> None:
        chosen = self._commands.target_chats
        if len(chosen) > 1:
            self._export_several(chosen, tr("Export Chats"))
        elif chosen:
            title = file_name(self._library.entries[chosen[0]].title, tr("Chat"))
            markdown, json, pdf = tr("Markdown (*.md)"), tr("JSON, with all versions (*.json)"), tr("PDF (*.pdf)")
            file = ask_save_path(self._window, tr("Export Chat"), title, {".md": markdown, ".json": json, ".pdf": pdf})
            if file and file.suffix.lower() == ".pdf":
                self._library.read_markdown(chosen[0], partial(self._write_pdf, file, title, paper.code_font()))
            elif file:
                self._library.export_chats(chosen, file)

    def _write_pdf(self, file: Path, title: str, code_font: str, text: str) -> None:
        def work() -> Notice:
            write_file(file, paper.to_pdf(text, title, code_font))
            return exported(tr("Exported {chats} to {to}.", chats=chats(1), to=file), file)

        tell = self._library.notified.emit
        self.background.run(work, tell, lambda problem: tell(Notice(problem, "error", topic="export")), saves=True)

    def print_chat(self) -> None:
        (chat,) = self._commands.target_chats
        self._library.read_markdown(chat, self._print)

    def _print(self, text: str) -> None:
        printer = QPrinter(QPrinter.PrinterMode.HighResolution)
        dialog = QPrintDialog(printer, self._window)
        dialog.setWindowTitle(tr("Print"))
        if dialog.exec():
            paper.document(text, paper.code_font()).print_(printer)

    def export_all(self) -> None:
        self._export_several(self._commands.listed(), tr("Export All Chats"))

    def _export_several(self, chats: list[str], title: str, name: str = "", project: str = "") -> None:
        formats = {".json": tr("JSON for later import (*.json)")} | ({".md": tr("Markdown (*.md)")} if chats else {})
        if file := ask_save_path(self._window, title, name or tr("Slipstream chats"), formats):
            self._library.export_chats(chats, file, project)

    def import_chats(self) -> None:
        kinds = tr("Chats (*.json *.jsonl *.zip *.db);;All files (*)")
        files, _ = QFileDialog.getOpenFileNames(self._window, tr("Import Chats"), "", kinds)
        if files:
            self._library.import_files([Path(file) for file in files])

    def import_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self._window, tr("Import Chats")):
            self._library.import_file(Path(folder))

    def delete_all(self) -> None:
        entries = self._library.entries
        all_of_them = tr("All {count} chats will be deleted.", count=number(len(entries)))
        if archived := sum(entry.archived for entry in entries.values()):
            all_of_them = tr(
                "All {count} chats will be deleted, including the archived ones ({archived}).",
                count=number(len(entries)),
                archived=number(archived),
            )
        kept = tr("Projects are kept.") if self._library.projects else ""
        question = sentences(all_of_them, kept, tr("You can undo this until you quit Slipstream."))
        if confirm(self._window, tr("Delete All Chats?"), question, tr("Delete All")):
            self._library.delete(list(entries))
