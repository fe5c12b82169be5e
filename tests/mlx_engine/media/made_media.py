"""Small images and PDFs, made here."""

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image, ImageDraw
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject, NumberObject

# Blue on the left, red on the right, 48 x 32, stored turned by `irot`, with an EXIF orientation of 6 that decoders ignore
HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAchtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAADRpbG9jAAAAAERAAAIA"
    "AQAAAAAB7AABAAAAAAAAAOIAAgAAAAACzgABAAAAAAAAACQAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAAAAABAABodmMxAAAAABVpbmZlAgAAAQACAABFeGlm"
    "AAAAAA5waXRtAAAAAAABAAABB2lwcnAAAADmaXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroC"
    "QGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAA"
    "AAAAQAAAAEAAAAAoY2xhcAAAADAAAAABAAAAIAAAAAH////wAAAAAv///+AAAAACAAAAEHBpeGkAAAAAAwgICAAAAAlpcm90AwAAABlpcG1hAAAAAAAAAAEA"
    "AQaBAgMFhIYAAAAaaXJlZgAAAAAAAAAOY2RzYwACAAEAAQAAAQ5tZGF0AAAA3igBrwY4Wve23+WHv+R/ZDz//0dEAOkQc+OmxhzzalwKFOW5wZZD6BzyPemv"
    "rwa7N/Oc+R87+65yKkj/e8/6lH+yHdOa15iV0sBcRfcu75lIemDJv7NOHXu7P6a+N3R6b959wRLQwqbTTpB+GRYYLqG209nIHW/E86NlbRMFOCtA1H6cea8+"
    "1DOs+FLY5av0w9lHM7ihtI7QPGG3+TeVFzZEnue/q4IKMpO/j5/jEPuA/UPV+tREpxfq1odtusV0ty3JfLWnsRirX8/KlK5jBpNneaJ4u3IeHO/fq5lgdgAA"
    "AAZFeGlmAABNTQAqAAAACAABARIAAwAAAAEABgAAAAAAAA=="
)


def picture(mode: str = "RGB", size: tuple[int, int] = (48, 32)) -> Image.Image:
    """Return a picture that every turn and flip changes."""
    image = Image.new("RGBA", size, (255, 0, 0, 255))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0] // 2 - 1, size[1]), fill=(0, 0, 255, 255))
    draw.rectangle((0, 0, size[0] // 3, size[1] // 3), fill=(0, 255, 0, 100))
    return image if mode == "RGBA" else image.convert(mode)


def saved(image: Image.Image, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def exif(orientation: int) -> bytes:
    data = Image.Exif()
    data[0x0112] = orientation
    return data.tobytes()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of_size(width: int, height: int) -> bytes:
    """Return a PNG of a stated size with nearly no pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


def line(text: str, x: int = 10, y: int = 100) -> str:
    """Return the instructions that show a line of text."""
    return f"BT /F1 12 Tf {x} {y} Td ({text}) Tj ET\n"


def pdf(*pages: str, size: tuple[float, float] = (200, 200), image: bytes | None = None) -> bytes:
    """Return a PDF of these instructions. `/I Do` shows a JPEG if there is one, and `/X Do` a form that shows itself."""
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    resources = DictionaryObject()
    fonts = DictionaryObject({NameObject("/F1"): DictionaryObject({NameObject(key): NameObject(of) for key, of in font.items()})})
    resources[NameObject("/Font")] = fonts
    form = DecodedStreamObject()
    form.set_data(b"/X Do 0 0 m 5 5 l S")
    form.update({NameObject("/Type"): NameObject("/XObject"), NameObject("/Subtype"): NameObject("/Form")})
    form[NameObject("/BBox")] = writer.add_blank_page(*size).mediabox
    writer.remove_page(0)
    objects = DictionaryObject({NameObject("/X"): writer._add_object(form)})
    form[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): objects})
    if image is not None:
        stream = DecodedStreamObject()
        stream.set_data(image)
        width, height = Image.open(io.BytesIO(image)).size
        names = {"/Type": "/XObject", "/Subtype": "/Image", "/ColorSpace": "/DeviceRGB", "/Filter": "/DCTDecode"}
        stream.update({NameObject(key): NameObject(of) for key, of in names.items()})
        numbers = {"/Width": width, "/Height": height, "/BitsPerComponent": 8}
        stream.update({NameObject(key): NumberObject(of) for key, of in numbers.items()})
        objects[NameObject("/I")] = writer._add_object(stream)
    resources[NameObject("/XObject")] = objects
    for instructions in pages:
        page = writer.add_blank_page(*size)
        page[NameObject("/Resources")] = resources
        content = DecodedStreamObject()
        content.set_data(instructions.encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    return written(writer)


def written(writer: PdfWriter) -> bytes:
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def locked(password: str, owner: str | None = None, algorithm: str = "RC4-128") -> bytes:
    writer = PdfWriter(PdfReader(io.BytesIO(pdf(line("Secret")))))
    writer.encrypt(password, owner_password=owner, algorithm=algorithm)
    return written(writer)


def dozen() -> dict[str, bytes]:
    """Return small files of all formats."""
    moving = [picture(), picture().rotate(90)]
    return {
        "plain.jpg": saved(picture(), "JPEG"),
        "turned.jpg": saved(picture(), "JPEG", exif=exif(6), progressive=True),
        "inks.jpg": saved(picture("CMYK"), "JPEG"),
        "clear.png": saved(picture("RGBA"), "PNG"),
        "palette.png": saved(picture("P"), "PNG", transparency=0),
        "moving.gif": saved(moving[0], "GIF", save_all=True, append_images=moving[1:]),
        "lossy.webp": saved(picture("RGBA"), "WEBP"),
        "moving.webp": saved(moving[0], "WEBP", save_all=True, append_images=moving[1:], lossless=True, exif=exif(3)),
        "packed.tif": saved(picture(), "TIFF", compression="tiff_lzw", exif=exif(8)),
        "photo.heic": HEIC,
        "text.pdf": pdf(line("A first page"), line("Another page")),
        "figure.pdf": pdf(line("Figure") + "q 100 0 0 100 50 50 cm /I Do Q", image=saved(picture(), "JPEG")),
    }
