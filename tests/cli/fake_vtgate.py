"""A MySQL server that answers a few fixed texts: what VTGate looks like to the proof at the end.

    with FakeVtgate({"select 1": (["1"], [["1"]])}) as vtgate:
        ... --vtgate vtgate.address

An answer is (column names, rows), an (errno, text) pair, None (done, and no rows), bytes that are sent as they are, or a
function of the query that gives one of them. What the client says to such bytes is in `vtgate.replies`.
"""

import socket
import socketserver
import struct
import threading


def _length_text(text):
    data = text.encode()
    assert len(data) < 65536
    return (bytes([len(data)]) if len(data) < 251 else b"\xfc" + struct.pack("<H", len(data))) + data


class _Handler(socketserver.BaseRequestHandler):
    def send(self, payload):
        self.request.sendall(struct.pack("<I", len(payload))[:3] + bytes([self.sequence % 256]) + payload)
        self.sequence += 1

    def receive(self):
        head = self.exactly(4)
        self.sequence = head[3] + 1
        return self.exactly(int.from_bytes(head[:3], "little"))

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.request.recv(count - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def ok(self):
        self.send(b"\0\0\0\x02\0\0\0")

    def eof(self):
        self.send(b"\xfe\0\0\x02\0")

    def error(self, number, text):
        self.send(b"\xff" + struct.pack("<H", number) + b"#HY000" + text.encode())

    def result(self, columns, rows):
        self.send(bytes([len(columns)]))
        for name in columns:
            self.send(b"".join(map(_length_text, ["def", "", "", "", name, name])) +
                      b"\x0c\x2d\0\xff\xff\0\0\xfd\0\0\0\0\0")
        self.eof()
        for row in rows:
            self.send(b"".join(map(_length_text, row)))
        self.eof()

    def handle(self):
        self.sequence = 0
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            # PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, CONNECT_WITH_DB, LOCAL_FILES
            self.send(b"\x0a8.4.0-Vitess\0" + struct.pack("<I", 1) + b"12345678\0" + struct.pack("<H", 0x8288) +
                      b"\x2d\x02\0" + struct.pack("<H", 0x0008) + b"\x15" + b"\0" * 10 + b"123456789012\0" +
                      b"mysql_native_password\0")
            login = self.receive()
            self.server.logins.append(login)
            if self.server.refuse_login:
                self.error(1045, "Access denied")
                return
            self.ok()
            while True:
                command = self.receive()
                if command[0] == 1:
                    return
                if command[0] == 3:
                    self.answer(command[1:].decode())
                else:
                    self.ok()
        except (ConnectionError, OSError):
            return

    def answer(self, query):
        self.server.queries.append(query)
        if query.lower().startswith("set "):
            self.ok()
            return
        answer = self.server.answers.get(query, (1146, f"table in {query!r} not found"))
        if callable(answer):
            answer = answer(query)
        if answer is None:
            self.ok()
        elif isinstance(answer, bytes):
            self.send(answer)
            self.server.replies.append(self.receive())
            self.ok()
        elif isinstance(answer[0], int):
            self.error(*answer)
        else:
            self.result(*answer)


class FakeVtgate(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, answers, refuse_login=False):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.refuse_login = answers, refuse_login
        self.queries, self.logins, self.replies = [], [], []
        self.address = f"127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
