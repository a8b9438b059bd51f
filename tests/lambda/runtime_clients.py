"""The official runtime interface clients, each with functions that use Powertools."""
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
FUNCTIONS = HERE / "powertools"
sys.path.insert(0, str(HERE.parent / "sdk"))

from sdk_install import debian, run, stamped  # noqa: E402

# Nothing is gained here by optimising what runs for a second.
PLAIN = "-fPIC -O0"


def python(handler):
    return ["env", "-C", str(FUNCTIONS), sys.executable, "-m", "awslambdaric", "app." + handler]


def node(handler):
    debian("g++", "make", "cmake", "xz-utils", "libcurl3-gnutls")
    folder = stamped("lambda-node", [FUNCTIONS / "package.json", FUNCTIONS / "package-lock.json"], install_node)
    shutil.copy(FUNCTIONS / "app.mjs", folder)
    return ["env", "-C", str(folder), "node_modules/.bin/aws-lambda-ric", "app." + handler]


def install_node(folder):
    """As npm would, but with curl from Debian: the client's own script builds one, which takes minutes."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(FUNCTIONS / name, folder)
    run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
    client = folder / "node_modules" / "aws-lambda-ric"
    sources, built = folder / "aws-lambda-cpp", folder / "built"
    sources.mkdir()
    run(["tar", "-xJf", client / "deps" / "aws-lambda-cpp.tar.xz", "-C", sources])
    run(["cmake", "-S", sources, "-B", sources / "build", "-DCMAKE_CXX_FLAGS=" + PLAIN,
         "-DCMAKE_INSTALL_PREFIX=%s" % built])
    run(["make", "-j2", "-C", sources / "build", "install"])
    (built / "lib" / "libcurl.a").write_text("INPUT(-l:libcurl-gnutls.so.4)\n")
    run(["env", "DEPS_PREFIX=%s" % built, "npm", "run", "build:gyp"], cwd=client)
    shutil.copy(client / "src" / "native" / "build" / "Release" / "rapid-client.node", client)


CLIENTS = {"python": python, "node": node}
