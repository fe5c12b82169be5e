"""Encrypted endpoints to a remote server."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.requests import LoadPair
from mlx_engine.engine.bridge import to_iter
from mlx_engine.remote.endpoint import Endpoint
from mlx_engine.remote.remote_engine import RemoteEngine
from tests.mlx_engine.remote.replay import recorded, replaying

MODELS = {("GET", "/v1/models"): recorded("mlx_lm/v1_models")}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate for 127.0.0.1 that signed itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(1))
    hosts = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = builder.add_extension(hosts, False).add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(*formats, plain))
    return folder / "cert.pem", folder / "key.pem"


def connect(endpoint: Endpoint) -> PairInfo:
    engine = RemoteEngine(endpoint)
    try:
        *_, info = to_iter(engine, LoadPair())
    finally:
        assert engine.wait(120)
    assert isinstance(info, PairInfo)
    return info


def test_only_a_trusted_certificate_is_accepted(certificate: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with replaying(MODELS, tls=context) as server:
        assert connect(Endpoint(server.url, ca_file=certificate[0])).name == "demo-target"
        with pytest.raises(UserError) as refused:
            connect(Endpoint(server.url))
        assert refused.value.text.code == "remote_certificate"


@pytest.mark.parametrize("content", (None, b"", b"no certificate"))
def test_a_bad_certificate_file_is_said(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError) as refused:
        connect(Endpoint("https://127.0.0.1:1", ca_file=file))
    assert refused.value.text.code == "remote_bad_ca"
