"""The folder of an order: named after the seller's reference, always inside the output folder."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from preflight.errors import UsageError

NO_ORDER = "no-order"
LONGEST_REFERENCE = 200
"""Characters; the references of sellers are far shorter, and this one fits every report."""
_LONGEST_SLUG = 40
_ACCEPTED = (
    f"give the seller's own reference, such as ORD-1042: one line of 1 to {LONGEST_REFERENCE} "
    "printable characters of any script"
)


def order_folder_name(reference: str | None) -> str:
    """``ord-1042-`` and 8 hex digits of the SHA-256 of the reference; ``no-order`` without one.

    The slug holds lower-case ASCII letters, digits and single dashes, 40 at most. A reference with
    none of these gives the digits alone, so that no folder begins with a dash. Different references
    give different folders even where their slugs agree.
    """
    if reference is None:
        return NO_ORDER
    digest = hashlib.sha256(reference.encode("utf-8")).hexdigest()[:8]
    decomposed = unicodedata.normalize("NFKD", reference).encode("ascii", "ignore").decode("ascii")
    slug = re.sub(r"[^a-z0-9]+", "-", decomposed.lower()).strip("-")[:_LONGEST_SLUG].rstrip("-")
    return f"{slug}-{digest}" if slug else digest


def check_reference(text: str) -> str:
    """The reference, without the blanks around it.

    Raises UsageError, naming ``--order``, for what cannot be printed on one line of a report.
    """
    if fault := reference_fault(text):
        raise UsageError(fault, where="--order", mend=_ACCEPTED)
    return text.strip()


def reference_fault(text: str) -> str | None:
    """Why a reference cannot be used, or None."""
    for position, character in enumerate(text.strip(" ")):
        kind = unicodedata.category(character)
        code = f"U+{ord(character):04X} at character {position + 1}"
        if kind in ("Cc", "Zl", "Zp"):
            return f"the reference holds a control character or line break ({code})"
        if kind == "Cs":
            return f"the reference is not valid text: a lone surrogate ({code})"
        # Noncharacters are illegal in XML, and would spoil junit.xml.
        if ord(character) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF:
            return f"the reference holds a code that is no character ({code})"
    if not any(_is_visible(character) for character in text):
        return "the reference is empty"
    if len(text.strip()) > LONGEST_REFERENCE:
        return f"the reference has {len(text.strip())} characters, more than {LONGEST_REFERENCE}"
    return None


def _is_visible(character: str) -> bool:
    """Neither blank nor a mere mark of format, such as a zero-width space."""
    return unicodedata.category(character) not in ("Zs", "Cf")
