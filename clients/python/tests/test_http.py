"""The answer reader: the same answer in whatever pieces it comes, and bounds."""

from __future__ import annotations

import unittest

from dripgate._http import Answer, AnswerReader
from dripgate.errors import LimiterUnavailableError

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: 1\r\nx: 2\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;why=not\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: t\r\n\r\n"
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN
TO_CLOSE = b"HTTP/1.0 200 OK\r\n\r\nhello"


def read(data: bytes, piece: int, bytes_max: int = 1000) -> tuple[Answer, bool]:
    reader = AnswerReader(bytes_max)
    for start in range(0, len(data), piece):
        answer = reader.feed(data[start : start + piece])
        if answer is not None:
            assert start + piece >= len(data), "done before the end"
            return answer, reader.keep_alive
    answer = reader.feed(b"")
    assert answer is not None
    return answer, reader.keep_alive


class AnswerReading(unittest.TestCase):
    def test_pieces_of_every_size_give_one_answer(self) -> None:
        for data, keeps in ((PLAIN, True), (CHUNKED, True), (CONTINUED, True), (TO_CLOSE, False)):
            for piece in range(1, len(data) + 1):
                answer, keep_alive = read(data, piece)
                self.assertEqual((answer.status, answer.body, keep_alive), (200, b"hello", keeps))
        self.assertEqual(read(PLAIN, 7)[0].headers["x"], "1, 2")

    def test_a_connection_is_kept_only_if_nothing_follows_and_nobody_says_close(self) -> None:
        self.assertFalse(read(PLAIN + b"HTTP", 1000)[1])
        self.assertFalse(read(PLAIN.replace(b"X: 1", b"Connection: close"), 1000)[1])

    def test_every_cut_is_a_lost_answer_not_a_short_one(self) -> None:
        for data in (PLAIN, CHUNKED, CONTINUED):
            for length in range(len(data)):
                with self.assertRaises(LimiterUnavailableError) as raised:
                    read(data[:length], 1000)
                self.assertEqual(raised.exception.reason, "connection")

    def test_bodies_heads_and_lines_are_bounded(self) -> None:
        big = b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"
        chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
        without_end = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001
        for data in (big, chunk, without_end, b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000, chunk[:-5] + b"0" * 70_000):
            with self.assertRaises(LimiterUnavailableError) as raised:
                read(data, 100_000)
            self.assertEqual(raised.exception.reason, "answer")

    def test_what_two_readers_could_read_in_two_ways_is_refused(self) -> None:
        for head in (
            b"HTTP/2 200\r\n",
            b"HTTP/1.1 2000 OK\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n",
        ):
            with self.assertRaises(LimiterUnavailableError):
                read(head + b"\r\nhello", 1000)
