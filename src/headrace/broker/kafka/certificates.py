"""Why the certificate of a broker is not accepted: librdkafka only says that it is not."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SECONDS = 5.0
UNSAID = "certificate verify failed"
"""What librdkafka says."""


def complaint(address: str, settings: Mapping[str, Any]) -> str | None:
    """What is wrong with a certificate behind ``address``, by librdkafka's settings; None where nothing is found."""
    for each in address.split(","):
        host, _, port = each.strip().rpartition(":")
        try:
            _shake_hands(host.strip("[]"), int(port), settings)
        except ssl.SSLCertVerificationError as error:
            return f"{each.strip()}: {error.verify_message}"
        except (OSError, ValueError):
            continue
    return None


def _shake_hands(host: str, port: int, settings: Mapping[str, Any]) -> None:
    context = _context(settings)
    with (
        socket.create_connection((host, port), _SECONDS) as connection,
        context.wrap_socket(connection, server_hostname=host),
    ):
        pass


def _context(settings: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm") != "none"
    place, text = settings.get("ssl.ca.location"), settings.get("ssl.ca.pem")
    if place is None and text is None:
        context.load_default_certs()
    else:
        is_directory = place is not None and Path(place).is_dir()
        context.load_verify_locations(None if is_directory else place, place if is_directory else None, text)
    return context
