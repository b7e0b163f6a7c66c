"""A small certificate authority by the openssl command, for tests of TLS."""

import subprocess

CONFIG = """
[ca]
default_ca = it
[it]
dir = {folder}
database = $dir/index.txt
serial = $dir/serial
new_certs_dir = $dir
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
"""


class Authority:
    """issue() makes NAME.crt and NAME.key in its folder and gives their paths."""

    def __init__(self, folder, name="test authority"):
        folder.mkdir(parents=True)
        self.folder = folder
        (folder / "index.txt").touch()
        (folder / "serial").write_text("1000\n", encoding="ascii")
        (folder / "ca.conf").write_text(CONFIG.format(folder=folder), encoding="ascii")
        self.cert = folder / "ca.crt"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                      "-subj", f"/CN={name}", "-keyout", folder / "ca.key", "-out", self.cert)

    def _openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def issue(self, name, alternative, start="20200101000000Z", end="20400101000000Z"):
        key, request, cert = (self.folder / f"{name}.{suffix}" for suffix in ("key", "csr", "crt"))
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                      f"/CN={name}", "-addext", f"subjectAltName={alternative}", "-keyout", key, "-out", request)
        self._openssl("ca", "-batch", "-notext", "-config", self.folder / "ca.conf", "-cert", self.cert, "-keyfile",
                      self.folder / "ca.key", "-startdate", start, "-enddate", end, "-in", request, "-out", cert)
        return cert, key
