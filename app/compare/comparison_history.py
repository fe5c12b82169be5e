"""Earlier comparisons, stored with the chats."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.conversations.chat_export import write_file
from app.conversations.comparison_record import ComparisonRecord
from app.conversations.store import Store
from app.language import tr, translated
from app.store_thread import StoreThread
from mlx_engine.errors import UserError


class ComparisonHistory(QObject):
    """`records` are the stored comparisons, newest first, once `read` has finished."""

    changed = Signal()
    message = Signal(str)

    def __init__(self, store: StoreThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.records: tuple[ComparisonRecord, ...] = ()

    def read(self) -> None:
        self._store.read(Store.comparisons, self._take)

    def add(self, record: ComparisonRecord) -> None:
        self._take((record, *self.records))
        self._store.write(lambda store: store.save_comparison(record))

    def delete(self, record: ComparisonRecord) -> None:
        self._take(tuple(one for one in self.records if one.id != record.id))
        self._store.write(lambda store: store.delete_comparison(record.id))

    def save(self, content: bytes | str, file: Path) -> None:
        """Save an export, JSON or an image; `message` says how it went."""

        def work(store: Store) -> str:
            try:
                write_file(file, content)
            except UserError as error:
                return translated(error.text)
            return tr("Saved as {file}.", file=file)

        self._store.read(work, self.message.emit)

    def _take(self, records: tuple[ComparisonRecord, ...]) -> None:
        self.records = records
        self.changed.emit()
