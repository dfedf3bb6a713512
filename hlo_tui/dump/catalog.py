"""The catalog of a dump: modules, their stages, runs and side files, kept up to date change by change.

It knows names, sizes and times only; nothing is read, but for a caller's function that may look up the name
of a module whose file names were too long to hold it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

from hlo_tui.dump.files import Changes, File, Stamp
from hlo_tui.dump.modules import Module, ModuleKey, family, put_together
from hlo_tui.dump.suffixes import Role

_Family = tuple[str, int | None, str]


@dataclass(frozen=True, slots=True)
class Delta:
    """What one step changed in the catalog.

    Attributes:
        added, changed: modules as they are now.
        removed: keys of modules that are not there any more.
        loose: whether the files of no module changed.
    """

    added: tuple[Module, ...] = ()
    changed: tuple[Module, ...] = ()
    removed: tuple[ModuleKey, ...] = ()
    loose: bool = False

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.added or self.changed or self.removed or self.loose)


def _order(module: Module) -> tuple[str, bool, int, str, int]:
    key = module.key
    return key.group, key.id is None, key.id or 0, key.name, key.run or 0


class Catalog:
    """All files of a dump, each in exactly one place."""

    def __init__(self, read_name: Callable[[File], str] | None = None) -> None:
        """Start empty.

        Args:
            read_name: gives the module's name that a text stage holds, "" where it holds none; asked once for
                each state of the first stage of a module whose files do not say its name.
        """
        self._read_name = read_name
        self._read: dict[str, tuple[Stamp, str]] = {}
        self._files: dict[str, File] = {}
        self._families: dict[_Family, dict[str, File]] = defaultdict(dict)
        self._keys: dict[_Family, tuple[ModuleKey, ...]] = {}
        self._modules: dict[ModuleKey, Module] = {}

    @property
    def files(self) -> dict[str, File]:
        """Every file by its path. Not to be changed by the caller."""
        return self._files

    @property
    def modules(self) -> list[Module]:
        """The modules by directory, number, name and time."""
        return sorted(self._modules.values(), key=_order)

    @property
    def other(self) -> list[File]:
        """Files of no module, by path."""
        return self._with_role(Role.FREE)

    @property
    def unrecognised(self) -> list[File]:
        """Files that neither XLA nor a framework writes, by path."""
        return self._with_role(Role.UNRECOGNISED)

    def module(self, key: ModuleKey) -> Module | None:
        """The module under this key, None where it is gone."""
        return self._modules.get(key)

    def apply(self, changes: Changes) -> Delta:
        """Take changes in; gives what they did to the modules."""
        touched: dict[_Family, None] = {}
        loose = False
        for path in changes.gone:
            old = self._files.pop(path, None)
            if old is None:
                continue
            if old.name.role in (Role.FREE, Role.UNRECOGNISED):
                loose = True
            else:
                self._families[family(old)].pop(path, None)
                touched[family(old)] = None
        for file in changes.present:
            if self._files.get(file.path) == file:
                continue
            self._files[file.path] = file
            if file.name.role in (Role.FREE, Role.UNRECOGNISED):
                loose = True
            else:
                self._families[family(file)][file.path] = file
                touched[family(file)] = None
        return self._rebuild(touched, loose)

    def _rebuild(self, touched: dict[_Family, None], loose: bool) -> Delta:
        added, changed, removed = [], [], []
        for unit in touched:
            old_keys = set(self._keys.get(unit, ()))
            modules = [self._named(module) for module in put_together(self._families[unit].values())]
            for module in modules:
                old = self._modules.get(module.key)
                if old is None:
                    added.append(module)
                elif old != module:
                    changed.append(module)
                self._modules[module.key] = module
                old_keys.discard(module.key)
            for key in old_keys:
                removed.append(key)
                del self._modules[key]
            self._keys[unit] = tuple(module.key for module in modules)
            if not modules:
                del self._keys[unit], self._families[unit]
        return Delta(tuple(added), tuple(changed), tuple(removed), loose)

    def _named(self, module: Module) -> Module:
        if module.name or self._read_name is None:
            return module
        text = next((file for stage in module.stages for file in stage.files if file.is_text), None)
        if text is None:
            return module
        stamp, name = self._read.get(text.path, (None, ""))
        if stamp != text.stamp:
            name = self._read_name(text)
            self._read[text.path] = (text.stamp, name)
        return replace(module, name=name) if name else module

    def _with_role(self, role: Role) -> list[File]:
        return sorted((file for file in self._files.values() if file.name.role is role), key=lambda f: f.path)
