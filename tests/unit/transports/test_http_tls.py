"""Over TLS all is the same, and only with a server that proves who it is."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hansard.errors import Invalid, Unreachable
from tests.support.http_server import Said, serving
from tests.unit.transports.calling import request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.http_server import HttpServer
    from tests.unit.transports.conftest import Connect


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file with a certificate of this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    now = dt.datetime.now(dt.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return file


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[HttpServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(tls=context) as state:
        yield state


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


@pytest.mark.usefixtures("trusted")
def test_a_server_with_a_certificate_of_the_environment_is_asked(
    tls_server: HttpServer, connect: Connect
) -> None:
    tls_server.says(lambda heard: Said(pieces=(heard.body,)))
    caller = connect(tls_server.url)

    assert caller.send(request(b"1")) == b"1"
    with caller.stream(request(b"2")) as pieces:
        assert b"".join(pieces) == b"2"
    assert tls_server.connections == 1


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("then", ["stall", "trickle"])
def test_the_time_of_a_call_is_kept(then: str, tls_server: HttpServer, connect: Connect) -> None:
    tls_server.says(Said(), Said(then=then))  # type: ignore[arg-type]
    caller = connect(tls_server.url)
    caller.send()

    with pytest.raises(Unreachable, match=r"none within 0\.2 s"):
        caller.send(timeout_s=0.2)
    tls_server.await_leaving()


@pytest.mark.usefixtures("trusted")
def test_leaving_a_stream_early_closes_its_connection(
    tls_server: HttpServer, connect: Connect
) -> None:
    tls_server.says(Said(then="stall"))
    with connect(tls_server.url).stream() as pieces:
        next(pieces)
    tls_server.await_hanging_up()


def test_a_server_that_does_not_prove_who_it_is_is_told_nothing(
    tls_server: HttpServer, connect: Connect
) -> None:
    with pytest.raises(Unreachable, match=r"no connection \(.*certificate") as raised:
        connect(tls_server.url, retries=0).send()

    assert isinstance(raised.value.__cause__, ssl.SSLError)
    assert not tls_server.heard


def test_a_file_of_certificates_that_is_none_is_said_so(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "none.pem").write_text("none")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))

    with pytest.raises(Invalid, match=r"certificates that cannot be used; look at .*SSL_CERT"):
        connect("https://127.0.0.1").send()
