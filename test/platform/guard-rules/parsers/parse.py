# Reads a JSON list of request targets, and prints, for each, the paths that services in Python may see.
import json
import posixpath
import sys
from urllib.parse import unquote, urljoin, urlparse, urlsplit


def attempt(read):
    try:
        return read()
    except (ValueError, UnicodeError):
        return None


def paths(target):
    # wsgiref's server splits the query first, and decodes the path.
    plain = target.split('?', 1)[0]
    parsed = attempt(lambda: urlparse(target).path)
    split = attempt(lambda: urlsplit(target).path)
    joined = attempt(lambda: urlsplit(urljoin('http://base.example/', target)).path)
    found = [plain, parsed, split, joined]
    decoded = [unquote(path) for path in found if path]
    normal = [posixpath.normpath(path) for path in decoded if path.startswith('/')]
    return [path for path in found + decoded + normal if path is not None]


json.dump([paths(target) for target in json.load(sys.stdin)], sys.stdout)
