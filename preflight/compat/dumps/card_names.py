"""The architecture of a card by the name that a driver prints, old and consumer cards included.

Sources: NVIDIA, CUDA GPU compute capability list, https://developer.nvidia.com/cuda-gpus; AMD, ROCm
GPU architecture specifications. The catalogue of hardware holds only what is rented; pastes come
from everywhere.
"""

from __future__ import annotations

import re
from functools import cache

from preflight.compat.capabilities import card_named

_FAMILIES: tuple[tuple[str, str], ...] = (
    # The narrow names before the wide ones.
    ("sm_121", r"GB10\b|DGX Spark"),
    ("sm_120", r"RTX PRO \d{4}.*Blackwell|RTX 50[5-9]0|RTX50\d0"),
    ("sm_103", r"\bG?B300\b"),
    ("sm_100", r"\bG?B[12]00\b"),
    ("sm_110", r"\bThor\b"),
    ("sm_87", r"\bOrin\b"),
    ("sm_72", r"\bXavier\b"),
    ("sm_90", r"\bG?H[128]00\b|\bH20(-3e)?\b"),
    (
        "sm_89",
        r"\bL(2|4|20|40[SG]?)\b|RTX 40[5-9]0|RTX \d{4} (SFF )?Ada|RTX [2-6]\d{3} Ada|\bAda\b",
    ),
    ("sm_80", r"\bA[18]00(X|D)?\b|\bA30X?\b|PG509|A100\w?-"),
    ("sm_86", r"\bA(2|10|10G|10M|16|40)\b|RTX A\d{3,4}|RTX 30[5-9]0|\bA[2-6]000\b|MX570"),
    (
        "sm_75",
        r"\bT4G?\b|TITAN RTX|Quadro RTX|RTX 20[5-9]0|GTX 16[3-6]0|\bT(400|500|550|600|1000|1200|"
        r"2000)\b|MX[45][05]0|Quadro T\d+",
    ),
    ("sm_70", r"\bV100S?\b|TITAN V\b|GV100|V100-"),
    ("sm_60", r"\bP100\b|GP100|P100-"),
    (
        "sm_61",
        r"GTX 10[1-8]0|GT 10[13]0|TITAN X[pP]?\b(?<!GTX TITAN X)|\bP(4|6|40)\b|Quadro P\d+|"
        r"MX[123][1-5]0",
    ),
    ("sm_52", r"GTX 9[5-8]0|GTX TITAN X\b|\bM(4|6|10|40|60)\b|Quadro M\d+"),
    ("sm_50", r"GTX 7[45]0|GTX 8[3-6]0M|Quadro K(620|1200|2200)"),
    ("sm_37", r"\bK80\b"),
    ("sm_35", r"\bK(20|40)[cmsXx]?\b|GTX TITAN\b|GTX 780"),
    ("gfx950", r"\bMI35[05][XP]?\b"),
    ("gfx942", r"\bMI3(00|08|25)[AXC]?(HF)?\b"),
    ("gfx90a", r"\bMI2[15]0X?\b|\bMI200\b"),
    ("gfx908", r"\bMI100\b"),
    ("gfx906", r"\bMI(50|60)\b|Radeon VII|Radeon Pro VII"),
    ("gfx900", r"\bMI25\b|RX Vega"),
    ("gfx1201", r"RX 9070|AI PRO R9[67]00"),
    ("gfx1200", r"RX 9060"),
    ("gfx1151", r"\b80[56]0S\b|Ryzen AI Max|Strix Halo"),
    ("gfx1150", r"\b8[89]0M\b"),
    ("gfx1103", r"\b7[468]0M\b"),
    ("gfx1102", r"RX 7(600|650|700S)|\bW7[56]00\b"),
    ("gfx1101", r"RX 7[78]00|\bW7700\b|\bV710\b"),
    ("gfx1100", r"RX 7900|\bW7[89]00\b"),
    ("gfx1032", r"RX 66[05]0|\bW6600\b"),
    ("gfx1031", r"RX 67[0-9]0"),
    ("gfx1030", r"RX 6[89]\d0|\bW6800\b|\bV620\b"),
)
_TARGET = re.compile(r"\bgfx([0-9a-f]{3,4}\b|\d+-\d)", re.IGNORECASE)
_CAPABILITY = re.compile(r"\bsm_?(\d{2,3})[af]?\b", re.IGNORECASE)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((arch, re.compile(words, re.IGNORECASE)) for arch, words in _FAMILIES)


@cache
def architecture_of(name: str) -> str | None:
    """``sm_120`` of ``NVIDIA GeForce RTX 5090``; None for a name that is cut off or unknown.

    A target that stands in the name has the word: ``AMD Instinct MI300X (gfx942:sramecc+:xnack-)``.
    """
    if found := _TARGET.search(name):
        return found[0].lower()
    if found := _CAPABILITY.search(name):
        return f"sm_{found[1]}"
    return next((arch for arch, words in _patterns() if words.search(name)), None)


@cache
def is_data_center(name: str) -> bool | None:
    """Whether the card may use forward compatibility packages; None for an unknown name."""
    if listed := card_named(name):
        return listed.data_center
    if re.search(r"GeForce|TITAN|Quadro|RTX|GTX", name, re.IGNORECASE):
        return False
    if re.search(r"Tesla|\b[ABHLPTV]\d{1,3}[GSX]?\b|\bG[BH]\d{3}\b", name):
        return True
    return None
