"""HTTP/1.1 without a socket: a request as bytes, an answer from bytes. Shared by the threads' and asyncio's transport."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, Mapping
from urllib.parse import urlsplit

from .errors import LimiterUnavailableError
from .limits import ANSWER_BYTES_MAX, HEADER_BYTES_MAX

_VALUE = re.compile(r"[\x20-\x7e]+")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: .*)?")


@dataclass(frozen=True)
class Address:
    """Where Dripgate is, of a url such as http://127.0.0.1:8080 or https://host/prefix."""

    host: str
    port: int
    authority: str
    prefix: str
    tls: bool


@dataclass(frozen=True)
class Answer:
    """retry_after_ms: of a Retry-After in seconds, else None."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after_ms(self) -> int | None:
        text = self.headers.get("retry-after", "")
        return int(text) * 1000 if re.fullmatch(r"[0-9]{1,9}", text) else None


def address_of(url: str) -> Address:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("url: accepted: http://host:port or https://host:port, without a user")
    tls = parts.scheme == "https"
    return Address(parts.hostname, parts.port or (443 if tls else 80), parts.netloc, parts.path.rstrip("/"), tls)


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """As they are, or ValueError: nothing that could end a line reaches the wire."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"'{name}': accepted: a header's name, and printable ASCII as its value")
    return dict(headers)


def request_bytes(address: Address, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"POST {address.prefix}{path} HTTP/1.1", f"Host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def _broken(what: str) -> LimiterUnavailableError:
    return LimiterUnavailableError(f"{what}: is it Dripgate that answers at this url?", "answer")


class AnswerReader:
    """Takes an answer in pieces. `feed` returns the answer once it is whole; b"" is the end of the connection."""

    def __init__(self, bytes_max: int = ANSWER_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._buffer = bytearray()
        self._body = bytearray()
        self._status = 0
        self._headers: dict[str, str] = {}
        self._step: Callable[[], bool] = self._head
        self._left = 0
        self._to_close = False
        self._ended = False
        self._done = False
        self.keep_alive = False

    def feed(self, data: bytes) -> Answer | None:
        self._ended = not data
        self._buffer += data
        while not self._done and self._step():
            pass
        if self._done:
            if self._buffer:
                self.keep_alive = False  # more than was asked for: nothing else may be read from it
            return Answer(self._status, self._headers, bytes(self._body))
        if self._ended:
            raise LimiterUnavailableError("the connection ended before the answer did", "connection")
        return None

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > HEADER_BYTES_MAX:
                raise _broken("a line without end")
            return None
        line = bytes(self._buffer[:end]).rstrip(b"\r")
        del self._buffer[: end + 1]
        return line

    def _head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or end > HEADER_BYTES_MAX:
            if len(self._buffer) > HEADER_BYTES_MAX:
                raise _broken("a head without end")
            return False
        first, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        status = _STATUS_LINE.fullmatch(first)
        if status is None:
            raise _broken("no HTTP answer")
        self._status = int(status[2])
        self._headers = {}
        for line in lines:
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or not _NAME.fullmatch(name):
                raise _broken("a header without a name")
            key = name.lower()
            self._headers[key] = f"{self._headers[key]}, {value.strip()}" if key in self._headers else value.strip()
        if self._status >= 200:  # 1xx: the answer is still to come
            connection = self._headers.get("connection", "").lower()
            self.keep_alive = "close" not in connection and (status[1] == b"1" or "keep-alive" in connection)
            self._step = self._framing()
        return True

    def _framing(self) -> Callable[[], bool]:
        coding, length = self._headers.get("transfer-encoding"), self._headers.get("content-length")
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise _broken(f"transfer-encoding '{coding}'")
            return self._chunk_size
        if self._status in (204, 304):
            length = "0"
        if length is None:
            self.keep_alive = False
            self._to_close = True
            self._left = self._bytes_max + 1
        elif not re.fullmatch(r"[0-9]{1,15}", length):
            raise _broken(f"content-length '{length}'")
        else:
            self._left = int(length)
            self._bound(self._left)
        return self._content

    def _bound(self, more: int) -> None:
        if len(self._body) + more > self._bytes_max:
            raise LimiterUnavailableError(f"the answer is over {self._bytes_max} bytes", "answer")

    def _take(self) -> None:
        part = self._buffer[: self._left]
        del self._buffer[: len(part)]
        self._bound(len(part))
        self._body += part
        self._left -= len(part)

    def _content(self) -> bool:
        self._take()
        self._done = self._left == 0 or (self._to_close and self._ended)
        return False

    def _chunk_size(self) -> bool:
        line = self._line()
        if line is None:
            return False
        size = line.split(b";")[0].strip()
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,12}", size):
            raise _broken("a chunk without a size")
        self._left = int(size, 16)
        self._bound(self._left)
        self._step = self._chunk if self._left else self._trailers
        return True

    def _chunk(self) -> bool:
        self._take()
        if self._left:
            return False
        self._step = self._chunk_end
        return True

    def _chunk_end(self) -> bool:
        line = self._line()
        if line is None:
            return False
        if line:
            raise _broken("a chunk over its size")
        self._step = self._chunk_size
        return True

    def _trailers(self) -> bool:
        line = self._line()
        if line is None:
            return False
        self._done = not line
        return not self._done
