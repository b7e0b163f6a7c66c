"""Daemons and those who ask them, over one database of a MySQL server; the same for a simulated and a real fleet."""

import signal


class Crew:
    """@server is vtctld's address, @vtddl starts programs, @mysql is a MysqlServer."""

    def __init__(self, server, vtddl, mysql):
        self.server, self.vtddl, self.mysql = server, vtddl, mysql
        self.url, self.secret = mysql.database()
        self.started = []

    def words(self, *words):
        return [*words, "--store", self.url, "--store-password-file", str(self.secret), "--server", self.server,
                "--poll-interval", "2s"]

    def ask(self, sql):
        """Rows of the store, as lists of texts; none where it cannot be asked."""
        got = self.mysql.sql(sql, database=self.url.rsplit("/", 1)[1], check=False)
        return [line.split("\t") for line in got.stdout.splitlines()] if got.returncode == 0 else []

    def holder(self):
        """The pid of who holds the lease; 0: nobody."""
        rows = self.ask("select owner from ddl_lock")
        return int(rows[0][0].split(":")[1]) if rows and rows[0][0] else 0

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait(20)
