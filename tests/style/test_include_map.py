"""A folder includes only what the map of the project names for it."""
import re

import pytest
import tree

EVERYTHING = ["server", "server/cli", "server/http", "server/wire", "server/actions",
              "server/engine", "server/journal", "server/trace", "server/model", "server/base",
              "chaos", "chaos/assumptions", "chaos/check", "client"]

# Folder: the folders of ours that it may include beside itself. A file or a header belongs to the
# longest folder that it lies below.
MAP = {
    "server": EVERYTHING,
    "server/cli": EVERYTHING,
    "server/http": ["server/engine", "server/journal", "server/wire", "server/actions",
                    "server/trace", "chaos", "chaos/assumptions", "server/model", "server/base"],
    "server/wire": ["server/actions", "server/model", "server/base"],
    "server/actions": ["server/engine", "server/model", "server/base"],
    "server/engine": ["server/model", "server/base"],
    "server/journal": ["server/model", "server/base"],
    "server/trace": ["server/model", "server/base"],
    "server/model": ["server/base"],
    "server/base": [],
    "chaos": ["server/model", "server/base"],
    "chaos/assumptions": ["server/model", "server/base"],
    "chaos/check": ["client", "chaos", "server/trace", "server/model", "server/base"],
    "client": ["server/base"],
    "client/examples": [],  # programs of users: they include the public headers in angle brackets
}

# Header of a library: the files or folders that may include it.
LIBRARIES = {
    "sqlite3.h": ["server/journal/", "client/inbox/", "client/examples/"],
    "microhttpd.h": ["server/http/", "chaos/check/sink.c", "client/lambda/", "client/bench/",
                     "client/examples/"],
    "jansson.h": ["server/actions/", "server/http/", "server/cli/", "chaos/", "client/"],
    "curl/": ["client/"],
    "nettle/": ["server/base/", "client/examples/"],
    "uuid/": ["server/base/"],
}


def folder_of(file):
    return max((folder for folder in MAP if file.startswith(folder + "/")), key=len, default=None)


def forbidden_includes(path):
    file = tree.name(path)
    home = folder_of(file)
    for bracket, header in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)', tree.text(path), re.M):
        if bracket == "<":
            for library, users in LIBRARIES.items():
                if header.startswith(library) and not file.startswith(tuple(users)):
                    yield f"{file}: <{header}> is only for {', '.join(users)}"
        elif home == "client/examples" and re.fullmatch(r"(exports/)?\w+\.h", header):
            continue  # they are copied together, to wherever the user builds
        elif home == "client" and re.fullmatch(r"quern(_\w+)?\.h", header) and file.endswith(".h"):
            continue  # the public headers stand side by side where they are installed too
        elif folder_of(header) is None:
            yield f"{file}: {header} is not written from the top of the tree"
        elif folder_of(header) not in [home, *MAP[home]]:
            yield f"{file}: {home} may not include {header}"
        elif home.startswith("client") and header == "server/base/json.h":
            yield f"{file}: the client has a codec of its own and may not include {header}"


@pytest.mark.parametrize("folder", MAP)
def test_folder_includes_only_what_the_map_allows(folder):
    files = [path for path in tree.sources(*tree.PRODUCT) if folder_of(tree.name(path)) == folder]
    assert [bad for path in files for bad in forbidden_includes(path)] == []


def test_every_source_file_has_a_place_in_the_map():
    assert [tree.name(path) for path in tree.sources(*tree.PRODUCT)
            if folder_of(tree.name(path)) is None] == []
