"""An extension of Griffe, which reads the docstrings for the reference.

Several parameters may share one entry of a numpydoc section, ``epsilon, ratio : float``. Where the entry names no type,
Griffe gives all of them the annotation and the default of the first. Here each gets its own, from the signature.
"""

from typing import Any

from griffe import DocstringSectionKind, Extension, Function


class GroupedParameters(Extension):
    """Give each documented parameter the annotation and the default of the signature."""

    def on_function(self, *, func: Function, **kwargs: Any) -> None:
        """Correct the parsed docstring of a function."""
        if func.docstring is None:
            return
        own = {parameter.name: parameter for parameter in func.parameters}
        from_signature = [parameter.annotation for parameter in own.values()]
        for section in func.docstring.parsed:
            if section.kind is not DocstringSectionKind.parameters:
                continue
            for entry in section.value:
                if entry.name not in own:
                    continue
                if any(entry.annotation is annotation for annotation in from_signature):
                    entry.annotation = own[entry.name].annotation
                entry.value = own[entry.name].default
