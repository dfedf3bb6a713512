"""Text of what carries strings: metadata, frontend attributes, backend configs and original values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hlo_tui.hlo.printing_shapes import integers
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.visible import visible

_ESCAPES = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\"}
_ESCAPED = [
    _ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in range(256)
]
_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")
_JSON_MARK = re.compile(r'["{}]')
# Metadata that has none of these is not written at all.
_SHOWN = ("op_type", "op_name", "source_file", "scheduling_name", "stack_frame_id")
# No shape nests deeper; an index that does is damage.
_MAX_DEPTH = 100
_STRING_MARK = re.compile(r'["\\]')


def c_escape(value: str | bytes) -> str:
    """Give a string as it stands between quotes in HLO text: C escapes, octal for what is not ASCII."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value):
            return value
        value = value.encode("utf-8", "surrogateescape")
    return "".join([_ESCAPED[byte] for byte in value])


def is_json_dict(text: str) -> bool:
    """Whether XLA writes a value without quotes: balanced braces, not counting those in JSON strings."""
    text = text.strip(" \t\r\n")
    if not text.startswith("{"):
        return False
    depth, place = 1, 1
    while depth:
        mark = _JSON_MARK.search(text, place)
        if not mark:
            return False
        place = mark.end()
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
        else:
            place = _string_end(text, place)
            if not place:
                return False
    return place == len(text)


def _string_end(text: str, place: int) -> int:
    """The place after the closing quote of the string that `place` is in; 0 where it is not closed."""
    while mark := _STRING_MARK.search(text, place):
        if mark[0] == '"':
            return mark.end()
        if text[mark.end() : mark.end() + 1] in ("", "\n"):
            return 0
        place = mark.end() + 1
    return 0


def quoted_or_json(value: str | bytes) -> str:
    """Give a value as it stands after `=`: a JSON object as it is, anything else quoted and escaped."""
    if isinstance(value, bytes):
        if not value.lstrip().startswith(b"{"):
            return f'"{c_escape(value)}"'
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return f'"{c_escape(value)}"'
    else:
        text = value
    return text if is_json_dict(text) else f'"{c_escape(value)}"'


def frontend_attributes_text(attributes: pb.FrontendAttributes) -> str:
    """Give frontend attributes in braces, sorted by key."""
    pairs = sorted(attributes.map.items())
    return f"{{{','.join(f'{visible(key)}={quoted_or_json(value)}' for key, value in pairs)}}}"


def metadata_text(metadata: pb.OpMetadata, payloads: Sequence[bytes] = ()) -> str:
    """Give what stands in the braces of `metadata=`, without them; empty where XLA writes none.

    Args:
        metadata: of an instruction or a sharding.
        payloads: of the module, for a metadata payload that is a reference to one.
    """
    if not any(getattr(metadata, name) for name in _SHOWN) and not metadata.HasField("metadata_payload"):
        return ""
    pieces = []
    for name in ("op_type", "op_name", "source_file"):
        if value := getattr(metadata, name):
            pieces.append(f'{name}="{c_escape(value)}"')
    for name in ("source_line", "source_end_line", "source_column", "source_end_column"):
        if number := getattr(metadata, name):
            pieces.append(f"{name}={number}")
    if metadata.profile_type:
        pieces.append(f"profile_type={{{integers(metadata.profile_type)}}}")
    if metadata.deduplicated_name:
        pieces.append(f'deduplicated_name="{c_escape(metadata.deduplicated_name)}"')
    if metadata.scheduling_name:
        # XLA writes this one without escapes; what would end the string or the line is escaped all the same.
        pieces.append(f'scheduling_name="{c_escape(metadata.scheduling_name)}"')
    if metadata.stack_frame_id:
        pieces.append(f"stack_frame_id={metadata.stack_frame_id}")
    if metadata.HasField("metadata_payload"):
        value = payload_bytes(metadata.metadata_payload, payloads)
        if value is not None:
            pieces.append(f'metadata_payload="{c_escape(value)}"')
    return " ".join(pieces)


def payload_bytes(payload: pb.Payload, payloads: Sequence[bytes]) -> bytes | None:
    """Give the bytes of a payload, in place or by its index in `payloads`; None where it leads nowhere."""
    which = payload.WhichOneof("payload_source")
    if which == "value":
        return bytes(payload.value)
    if which == "id" and 0 <= payload.id < len(payloads):
        return bytes(payloads[payload.id])
    return None


def original_array_text(array: pb.OriginalArrayProto) -> str:
    """Give the name of an instruction before optimisation, and the index into its tuple shape if any."""
    index = f" {{{integers(array.shape_index)}}}" if array.shape_index else ""
    return f'"{c_escape(array.instruction_name)}"{index}'


def original_value_text(value: pb.OriginalValueProto) -> str:
    """Give what stands in the braces of `origin=`: a tree with the form of the instruction's shape."""
    if value.is_synthetic_call:
        return "[synthetic_call]"
    return _tree_text([(tuple(element.shape_index), element) for element in value.elements], 0)


def _tree_text(elements: Iterable[tuple[tuple[int, ...], pb.OriginalValueElementProto]], depth: int) -> str:
    leaf = ""
    children: dict[int, list[tuple[tuple[int, ...], pb.OriginalValueElementProto]]] = {}
    for index, element in elements:
        if len(index) <= depth:
            known = element.HasField("original_array")
            leaf = f"{{{original_array_text(element.original_array)}}}" if known else "{}"
        else:
            children.setdefault(index[depth], []).append((index, element))
    if not children:
        return leaf or "()"
    if depth == _MAX_DEPTH:
        return "(...)"
    return f"({', '.join(_tree_text(child, depth + 1) for _, child in sorted(children.items()))})"
