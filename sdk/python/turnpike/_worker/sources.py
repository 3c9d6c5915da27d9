"""Keeps the user's own source files by content, so that every worker of a generation imports the same bytes.

A generation's folder has a folder `sources`: one file per source, named by the digest of its path. An import of a module
of the user's own looks there first. A source that is not there is read from its own place and published; if another worker
published it first, that worker's bytes count. So a restart imports what the first start imported, even if the file was saved
since. `__file__` and tracebacks are as usual. (docs/decisions/0005)

Without open_store(), every file is read from its own place.
"""
from __future__ import annotations

import _thread
import hashlib
import marshal
import os
import struct
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

_LENGTH = struct.Struct("<I")
_SDK = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INSTALLED = frozenset(("site-packages", "dist-packages"))

_CACHED_MIN = 4096  # bytes of source; smaller files compile as fast as a cache is read

_store: "_Store | None" = None
_inherited: frozenset[str] = frozenset()


def open_store(generation: str) -> None:
    """Makes imports of the user's own modules go through the generation in this folder."""
    global _store
    _foreign_folders()  # before the finder is installed, because this imports a module
    _store = _Store(os.path.join(generation, "sources"))
    # Put ours right before PathFinder, so that the finders of built-in modules still come first.
    sys.meta_path.insert(sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0, _Finder())


def is_file(path: str) -> bool:
    return (_store is not None and path in _store.kept) or os.path.isfile(path)


def read(path: str) -> bytes:
    """Returns the bytes that this generation has of the file."""
    if _store is not None and is_own(path):
        return _store.read(path)
    with open(path, "rb") as file:
        return file.read()


def loader(name: str, path: str) -> SourceFileLoader:
    """Returns the loader for a module of the user's own."""
    return SourceFileLoader(name, path) if _store is None else _Loader(name, path)


def is_own(path: str) -> bool:
    """True if the file is the user's own: not Python's, not an installed package's, not the SDK's."""
    return _INSTALLED.isdisjoint(path.split(os.sep)) and not path.startswith(_foreign_folders())


def imports() -> list[str]:
    """Returns the imported modules that are not the user's own, in import order. A warm process imports them in advance."""
    found = []
    for name, module in list(sys.modules.items()):
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        if origin and os.path.isabs(origin) and not is_own(origin) and not origin.startswith(_SDK + os.sep):
            found.append(name)
    return found


def remember_inherited() -> None:
    """Must be called in a forked worker. The modules that are imported by now came from its warm process, so save_imports() leaves
    them out."""
    global _inherited
    _inherited = frozenset(sys.modules)


def save_imports(generation: str, settings: Mapping[str, str] = MappingProxyType({})) -> None:
    """Writes the names of the imported modules where the gate looks for them, atomically. The list only grows, because each
    change makes the gate start a new warm process.

    `settings` are the environment variables to be set before the imports. They are written as NAME=VALUE.
    """
    path = os.path.join(os.path.dirname(generation), "imports")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            known = file.read().split("\n")
    except OSError:
        known = []
    old = _inherited.union(known)
    names = [line for line in known if line and "=" not in line]
    names += [name for name in imports() if name not in old]
    lines = names + sorted(f"{name}={value}" for name, value in settings.items())
    if lines == known or not names:
        return
    try:
        _publish(path, "\n".join(lines).encode("utf-8", "surrogateescape"), os.replace)
    except OSError:  # then there are no warm starts
        pass


_folders: tuple[str, ...] = ()


def _foreign_folders() -> tuple[str, ...]:
    global _folders
    if not _folders:
        import sysconfig

        paths = sysconfig.get_paths()
        named = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {_SDK}
        _folders = tuple(os.path.join(path, "") for path in named | {os.path.realpath(path) for path in named})
    return _folders


class _Store:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.kept: dict[str, bytes] = {}
        self.stems: set[str] = set()  # names under which the kept files may be imported
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        for name in names:
            if not name.startswith("."):
                self._load(os.path.join(folder, name))

    def read(self, path: str) -> bytes:
        if path not in self.kept:
            self._publish(path)
        return self.kept[path]

    def _publish(self, path: str) -> None:
        with open(path, "rb") as file:
            data = file.read()
        key = os.fsencode(path)
        self._keep(path, data)
        place = os.path.join(self.folder, hashlib.sha256(key).hexdigest())
        try:
            _publish(place, _LENGTH.pack(len(key)) + key + data, os.link)
        except FileExistsError:  # another worker was first
            self._load(place)
        except OSError as error:
            from . import failures

            failures.say(f"turnpike: {path} can't be kept for restarts: {error}\n")

    def place_of_code(self, path: str, source: bytes) -> str:
        """Returns the path of the compiled code. All generations of a pool share it, as most files do not change between them."""
        kind = f"{sys.implementation.cache_tag} {sys.version} {sys.flags.optimize} {len(os.fsencode(path))} "
        digest = hashlib.sha256(kind.encode() + os.fsencode(path) + source)
        return os.path.join(os.path.dirname(os.path.dirname(self.folder)), "code", digest.hexdigest())

    def _load(self, place: str) -> None:
        try:
            with open(place, "rb") as file:
                data = file.read()
        except OSError:  # the gate has just removed the generation
            return
        if len(data) >= 4:
            end = 4 + _LENGTH.unpack_from(data)[0]
            self._keep(os.fsdecode(data[4:end]), data[end:])

    def _keep(self, path: str, data: bytes) -> None:
        self.kept[path] = data
        folder, name = os.path.split(path)
        self.stems |= {os.path.splitext(name)[0], os.path.basename(folder)}


def _publish(place: str, data: bytes, put: Callable[[str, str], object]) -> None:
    """Writes a file atomically: readers see all of it, or no file."""
    draft = os.path.join(os.path.dirname(place), f".{os.getpid()}-{_thread.get_ident()}")
    try:
        with open(draft, "wb") as file:
            file.write(data)
        put(draft, place)
    finally:
        if os.path.exists(draft):
            os.unlink(draft)


class _Loader(SourceFileLoader):
    """Compiles the generation's bytes. Uses no .pyc files, which depend on the file's time; the cache here depends on content."""

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        _show_in_tracebacks(self.path, source)
        if len(source) < _CACHED_MIN or _store is None:
            return self.source_to_code(source, self.path)
        place = _store.place_of_code(self.path, source)
        code = _cached_code(place)
        if code is None:
            code = self.source_to_code(source, self.path)
            _keep_code(place, code)
        return code

    def get_data(self, path: str) -> bytes:
        return read(path) if path == self.path else super().get_data(path)


def _cached_code(place: str) -> CodeType | None:
    try:
        with open(place, "rb") as file:
            code = marshal.loads(file.read())
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return code if isinstance(code, CodeType) else None


def _keep_code(place: str, code: CodeType) -> None:
    try:
        os.makedirs(os.path.dirname(place), 0o700, exist_ok=True)
        _publish(place, marshal.dumps(code), os.replace)
    except (OSError, ValueError):  # then the next start compiles it again
        pass


def _show_in_tracebacks(path: str, source: bytes) -> None:
    """Makes tracebacks show the lines that run, not those saved since. linecache never rereads an entry without a time."""
    import linecache
    from importlib.util import decode_source

    try:
        lines = decode_source(source).splitlines(True)
    except (SyntaxError, UnicodeDecodeError):  # the compiler will raise it, with a better message
        return
    linecache.cache[path] = (len(source), None, lines, path)


class _Finder:
    """Comes before PathFinder. Gives the user's own modules the loader above, even if only the kept copy of a file is left."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = _kept_spec(name, sys.path if path is None else path)
        if spec is not None:
            return spec
        spec = _spec_of_later_finders(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and is_own(spec.origin or ""):
            spec.loader = _Loader(name, spec.loader.path)
            spec.cached = None
        return spec


def _spec_of_later_finders(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Asks PathFinder and the finders behind it; an editable install has its own finder."""
    for finder in sys.meta_path[sys.meta_path.index(PathFinder):] if PathFinder in sys.meta_path else ():
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


def _kept_spec(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    stem = name.rpartition(".")[2]
    if _store is None or stem not in _store.stems:
        return None
    for folder in folders:
        base = os.path.join(folder, stem)
        package = os.path.join(base, "__init__.py")
        for path in (package, base + ".py"):
            if path in _store.kept:
                spec = ModuleSpec(name, _Loader(name, path), origin=path, is_package=path is package)
                spec.has_location = True
                if path is package:
                    spec.submodule_search_locations = [base]
                return spec
    return None
