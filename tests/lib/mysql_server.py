"""A MariaDB server of its own for tests: a private folder, a free port, gone afterwards."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

from waiting import wait_until

PASSWORD = "s3cret-of-the-store"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class MysqlServer:
    """Databases are made per test, so that one server serves a whole run."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vtddl-mysql-"))
        self.folder.chmod(0o755)
        self.data, self.socket, self.port = self.folder / "data", self.folder / "sock", free_port()
        self.data.mkdir()
        self.log = self.folder / "log"
        self.log.touch()
        self.user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:
            for path in (self.folder, self.data, self.log):
                shutil.chown(path, self.user)
        self.process, self.count = None, 0
        program = shutil.which("mariadb-install-db")
        assert program, "there is no mariadb-install-db; install mariadb-server-core"
        subprocess.run([program, "--no-defaults", f"--user={self.user}", f"--datadir={self.data}", "--skip-test-db",
                        "--auth-root-authentication-method=normal"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def start(self):
        program = shutil.which("mariadbd", path="/usr/sbin:/usr/bin:/usr/local/sbin")
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [program, "--no-defaults", f"--user={self.user}", f"--datadir={self.data}", f"--socket={self.socket}",
             # in a shared folder a server that starts removes the temporary tables of the others
             f"--tmpdir={self.folder}", f"--port={self.port}", "--bind-address=127.0.0.1", f"--pid-file={self.folder}/pid",
             f"--log-error={self.log}", "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=32M",
             "--innodb-log-file-size=16M", "--skip-name-resolve", "--max-connections=400"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.sql("select 1", check=False).returncode == 0, "the MySQL server answers", 60)
        return self

    def sql(self, text, check=True, database="mysql"):
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-B", database,
                               "-e", text], check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8")

    def database(self):
        """A new empty database and its account; gives the URL and the file with the password."""
        self.count += 1
        name = f"vtddl{self.count}"
        self.sql(f"create database {name}; create user if not exists vtddl@127.0.0.1 identified by '{PASSWORD}';"
                 f" grant all on {name}.* to vtddl@127.0.0.1")
        secret = self.folder / "password"
        secret.write_text(PASSWORD + "\n", encoding="utf-8")
        secret.chmod(0o600)
        return f"mysql://vtddl@127.0.0.1:{self.port}/{name}", secret

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)
