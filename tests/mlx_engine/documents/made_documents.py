"""Small Word files, made here."""

import io
import zipfile

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
COPIES = "http://schemas.openxmlformats.org/markup-compatibility/2006"
STYLES = {"berschrift1": "heading 1", "berschrift2": "heading 2", "Titel": "Title", "Text": "Body Text"}


def word(*paragraphs: str, notes: str = "", head: str = "") -> bytes:
    """Return a Word file with these paragraphs, which are XML with the prefix w."""
    styles = "".join(f'<w:style w:styleId="{style}"><w:name w:val="{name}"/></w:style>' for style, name in STYLES.items())
    files = {
        "word/document.xml": f"{head}{root('document', '<w:body>' + ''.join(paragraphs) + '</w:body>')}",
        "word/styles.xml": root("styles", styles),
    }
    if notes:
        files["word/footnotes.xml"] = root("footnotes", notes)
    return archive(files)


def root(name: str, content: str) -> str:
    return f'<w:{name} xmlns:w="{WORD}" xmlns:mc="{COPIES}">{content}</w:{name}>'


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def archive(files: dict[str, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return content.getvalue()
