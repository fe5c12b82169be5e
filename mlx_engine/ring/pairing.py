"""Pairing: the code that a worker shows makes it and the leader trust each other.

The connection is encrypted with the worker's own certificate, which no authority signed. So both sides prove that they know the
code, together with the certificate that they see. Someone in between has another certificate, and a proof for it is of no use. The
code has 78 random bits, too many to try.
"""

import hashlib
import hmac
import json
import secrets
import ssl
import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

from mlx_engine.contract import secrets as keychain
from mlx_engine.contract.errors import UserError
from mlx_engine.network.channel import Channel
from mlx_engine.network.frames import ChannelClosed

_SERVICE, _OWN = "Slipstream", "worker"
_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"  # without those that look alike
_LENGTH, _GROUP = 16, 4
_ANSWER_S = 30.0
_PACKAGES = ("slipstream", "mlx", "mlx-lm")


@dataclass(frozen=True)
class WorkerIdentity:
    """What a worker is known by.

    Attributes:
        code: shown to the user.
        pem: its certificate and private key.
        kept: whether the keychain has both.
    """

    code: str = field(repr=False)
    pem: str = field(repr=False)
    kept: bool

    def context(self) -> ssl.SSLContext:
        """Return the settings of its encrypted connections."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # only this user can read it
            file.write(self.pem)
            file.flush()
            context.load_cert_chain(file.name)
        return context

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of the certificate."""
        certificate = self.pem[self.pem.index("-----BEGIN CERTIFICATE") :]
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).digest()


def own_identity(renew: bool = False) -> WorkerIdentity:
    """Return this computer's identity as a worker, which is created on first use.

    Args:
        renew: whether to replace it, so that no leader can connect without the new code.
    """
    if not renew and (found := keychain.saved(_SERVICE, _OWN)):
        known = json.loads(found)
        return WorkerIdentity(known["code"], known["pem"], keychain.all_saved({_OWN}))
    new = new_identity()
    return replace(new, kept=keychain.save(_SERVICE, _OWN, json.dumps({"code": new.code, "pem": new.pem})) is None)


def new_identity() -> WorkerIdentity:
    """Return a new identity, which isn't stored."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return WorkerIdentity("-".join(letters[at : at + _GROUP] for at in range(0, _LENGTH, _GROUP)), _certificate(), False)


@dataclass(frozen=True)
class KnownWorker:
    """A worker as the leader knows it.

    Attributes:
        host: its address.
        port: its port.
        code: its pairing code.
        fingerprint: SHA-256 of its certificate, in hexadecimal; "" before the first connection.
    """

    host: str
    port: int
    code: str = field(repr=False)
    fingerprint: str = ""

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def save(self) -> None:
        """Keep code and certificate in the keychain."""
        keychain.save(_SERVICE, f"{_OWN} {self.name}", json.dumps({"code": self.code, "fingerprint": self.fingerprint}))


def forget_worker(name: str) -> None:
    """Delete a worker's code and certificate from the keychain."""
    keychain.delete(_SERVICE, f"{_OWN} {name}")


def known_worker(host: str, port: int) -> KnownWorker | None:
    """Return a worker that was paired before."""
    if (found := keychain.saved(_SERVICE, f"{_OWN} {host}:{port}")) is None:
        return None
    known = json.loads(found)
    return KnownWorker(host, port, known["code"], known["fingerprint"])


def meet_worker(channel: Channel, worker: KnownWorker) -> str:
    """Encrypt a connection to a worker, and check that it is the one.

    Returns:
        The fingerprint of its certificate.

    Raises:
        UserError: it is another one, or another version of Slipstream.
        ChannelClosed: it is gone, or no worker.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version, context.check_hostname, context.verify_mode = ssl.TLSVersion.TLSv1_3, False, ssl.CERT_NONE
    channel.encrypt(context, False, _ANSWER_S)
    fingerprint = hashlib.sha256(channel.certificate()).digest()
    if worker.fingerprint not in ("", fingerprint.hex()):
        template = "“{name}” has another certificate than when it was paired. Pair it again with the code that it shows."
        raise UserError("worker_certificate_changed", template, name=worker.name)
    own = secrets.token_hex(16)
    channel.send(["nonce", own])
    nonces = own, _answer(channel, "nonce")
    channel.send(["proof", _proof(worker.code, "leader", nonces, fingerprint)])
    if not _is_equal(_answer(channel, "proof"), _proof(worker.code, "worker", nonces, fingerprint)):
        template = "The pairing code of “{name}” is wrong. Enter the code that the worker shows."
        raise UserError("worker_code_wrong", template, name=worker.name)
    channel.trust()
    channel.send(["versions", versions()])
    theirs = _answer(channel, "versions")
    for package, installed in versions().items():
        found = theirs.get(package) if isinstance(theirs, dict) else None
        if found != installed:
            template = "“{name}” has {package} {found}, and this computer {own}. Install the same version of Slipstream on both."
            raise UserError(
                "worker_version_differs", template, name=worker.name, package=package, found=str(found)[:40], own=installed
            )
    return fingerprint.hex()


def meet_leader(channel: Channel, identity: WorkerIdentity, context: ssl.SSLContext) -> bool:
    """Encrypt a leader's connection, and return whether it knows the code.

    Raises:
        ChannelClosed: it is gone, or no leader.
    """
    channel.encrypt(context, True, _ANSWER_S)
    own = secrets.token_hex(16)
    nonces = str(_answer(channel, "nonce")), own
    channel.send(["nonce", own])
    if not _is_equal(_answer(channel, "proof"), _proof(identity.code, "leader", nonces, identity.fingerprint)):
        channel.send(["proof", ""])
        return False
    channel.trust()
    channel.send(["proof", _proof(identity.code, "worker", nonces, identity.fingerprint)])
    _answer(channel, "versions")
    channel.send(["versions", versions()])
    return True


def versions() -> dict[str, str]:
    """Return the versions that must be equal on all computers."""
    return {package: version(package) for package in _PACKAGES}


def _answer(channel: Channel, kind: str) -> Any:
    match channel.receive(_ANSWER_S):
        case [found, value] if found == kind:
            return value
    raise ChannelClosed("ended")


def _is_equal(answer: Any, proof: str) -> bool:
    return isinstance(answer, str) and hmac.compare_digest(answer.encode(errors="replace"), proof.encode())


def _proof(code: str, role: str, nonces: tuple[str, str], fingerprint: bytes) -> str:
    key = "".join(letter for letter in code.upper() if letter.isalnum()).encode()
    message = json.dumps([role, *nonces, fingerprint.hex()]).encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _certificate() -> str:
    """Return a new private key and its certificate."""
    from cryptography import x509  # slow to import
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=7300))
    certificate = builder.sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return (private + certificate.public_bytes(serialization.Encoding.PEM)).decode()
