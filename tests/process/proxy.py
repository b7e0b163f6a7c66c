"""A proxy between vtddl and vtctldsim that counts what passes, and harms a connection at a chosen place."""

import selectors
import socket
import struct
import threading
import time
import typing

TO_SERVER, TO_CLIENT = 0, 1
HEADERS, GOAWAY = 1, 7
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends RST


class Frame(typing.NamedTuple):
    """A frame of HTTP/2, or just bytes."""

    direction: int
    data: bytes
    kind: int | None = None
    stream: int = 0


class Frames:
    """Where the frames of HTTP/2 in one direction begin and end."""

    def __init__(self, direction):
        self.direction, self.buffer = direction, b""
        self.preface = len(PREFACE) if direction == TO_SERVER else 0

    def take(self, data):
        """Gives what is whole now."""
        self.buffer += data
        if self.preface and len(self.buffer) >= self.preface:
            yield Frame(self.direction, self.buffer[:self.preface])
            self.buffer, self.preface = self.buffer[self.preface:], 0
        while not self.preface and len(self.buffer) >= 9:
            end = 9 + int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < end:
                break
            whole, self.buffer = self.buffer[:end], self.buffer[end:]
            yield Frame(self.direction, whole, whole[3], int.from_bytes(whole[5:9], "big") & 0x7fffffff)


class Link:
    """One connection of a client and the one to the server that belongs to it."""

    def __init__(self, client, server):
        self.ends = (server, client)  # by the direction: where it is written to
        self.frames = (Frames(TO_SERVER), Frames(TO_CLIENT))
        self.deaf = False  # takes no bytes any more, from nobody, and stays open
        self.last_stream = 0

    def close(self, reset):
        for end in self.ends:
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.close()


def goaway(last_stream, code=0, text=b""):
    return struct.pack(">I", 8 + len(text))[1:] + bytes((GOAWAY, 0, 0, 0, 0, 0)) + struct.pack(
        ">II", last_stream, code) + text


class Proxy:
    """Passes everything on and counts it: bytes and frames by direction, requests. `harm` is asked for each frame, or,
    with by_byte, for each piece, before it is passed on: harm(proxy, link, frame) gives the bytes
    that go on, or None where nothing does. A class below is one; it harms once."""

    def __init__(self, upstream, harm=None):
        self.upstream, self.harm = upstream, harm
        self.bytes, self.frames, self.requests, self.connections = [0, 0], [0, 0], 0, 0
        self.links, self.harmed = {}, 0
        self.selector = selectors.DefaultSelector()
        self.wakes, self.waker = socket.socketpair()
        self.selector.register(self.wakes, selectors.EVENT_READ)
        self.listener, self.port, self.open_again = None, 0, None
        self.listen()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def listen(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(16)
        self.port = self.listener.getsockname()[1]
        self.selector.register(self.listener, selectors.EVENT_READ)

    def refuse(self, seconds):
        """Connections are refused for so long."""
        self.selector.unregister(self.listener)
        self.listener.close()
        self.listener, self.open_again = None, time.monotonic() + seconds

    def drop(self, link, reset=True):
        for end in link.ends:
            if end in self.links:
                del self.links[end]
                self.selector.unregister(end)
        link.close(reset)

    def stop(self):
        self.waker.send(b"x")
        self.thread.join(10)
        for one in (self.wakes, self.waker, self.selector):
            one.close()

    # ---- the thread ----

    def work(self):
        while True:
            left = None if self.open_again is None else max(0, self.open_again - time.monotonic())
            ready = [key.fileobj for key, _ in self.selector.select(left)]
            if self.open_again is not None and time.monotonic() >= self.open_again:
                self.open_again = None
                self.listen()
            if self.wakes in ready:
                break
            for one in ready:
                if one is self.listener:
                    self.accept()
                elif one in self.links:
                    self.read(one, *self.links[one])
        for link in {id(link): link for link, _ in self.links.values()}.values():
            self.drop(link)
        if self.listener:
            self.listener.close()

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self.upstream), 10)
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.close()
            return
        self.connections += 1
        link = Link(client, server)
        for end, direction in ((client, TO_SERVER), (server, TO_CLIENT)):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.links[end] = (link, direction)
            self.selector.register(end, selectors.EVENT_READ)

    def read(self, end, link, direction):
        try:
            data = end.recv(1 << 16)
            if not data:
                self.drop(link, reset=False)
            elif not link.deaf:
                self.pass_on(link, direction, data)
        except OSError:
            self.drop(link)

    def pass_on(self, link, direction, data):
        by_byte = self.harm and self.harm.by_byte
        for frame in [Frame(direction, data)] if by_byte else link.frames[direction].take(data):
            if frame.kind == HEADERS and direction == TO_SERVER:
                self.requests += 1
                link.last_stream = max(link.last_stream, frame.stream)
            piece = self.harm(self, link, frame) if self.harm else frame.data
            if piece is None or link.deaf or link.ends[0] not in self.links:
                return
            self.bytes[direction] += len(piece)
            self.frames[direction] += 1
            link.ends[direction].sendall(piece)


class Cut:
    """The connection is cut when so many bytes have passed in one direction, by RST or by FIN."""

    by_byte = True

    def __init__(self, direction, count, reset):
        self.direction, self.count, self.reset = direction, count, reset

    def __call__(self, proxy, link, frame):
        left = self.count - proxy.bytes[self.direction]
        if proxy.harmed or frame.direction != self.direction or left > len(frame.data):
            return frame.data
        proxy.harmed += 1
        if left:
            link.ends[self.direction].sendall(frame.data[:left])
        if self.reset:
            # what was sent before must arrive: a reset would overtake it
            time.sleep(0.002)
        proxy.drop(link, self.reset)
        return None


class AtRequest:
    """Does something once: when the n-th request comes, before it is passed on, or, with `answered`, when its answer
    comes. do(proxy, link) says whether the request, or the answer, goes on."""

    by_byte = False

    def __init__(self, nth, do, answered=False):
        self.nth, self.do, self.answered, self.waits_for = nth, do, answered, None

    def is_it(self, proxy, link, frame):
        if frame.kind != HEADERS:
            return False
        if frame.direction == TO_SERVER and self.waits_for is None and proxy.requests >= self.nth:
            self.waits_for = (link, frame.stream)
            return not self.answered
        return frame.direction == TO_CLIENT and self.waits_for == (link, frame.stream)

    def __call__(self, proxy, link, frame):
        if proxy.harmed or not self.is_it(proxy, link, frame):
            return frame.data
        proxy.harmed += 1
        return frame.data if self.do(proxy, link) else None


class AtFrame:
    """Says something to the client in front of the n-th frame that the server sends: say(link) gives the bytes."""

    by_byte = False

    def __init__(self, nth, say, close=False):
        self.nth, self.say, self.close = nth, say, close

    def __call__(self, proxy, link, frame):
        if proxy.harmed or frame.direction != TO_CLIENT or proxy.frames[TO_CLIENT] + 1 < self.nth:
            return frame.data
        proxy.harmed += 1
        link.ends[TO_CLIENT].sendall(self.say(link))
        if self.close:
            proxy.drop(link, reset=False)
            return None
        return frame.data
