"""Signatures and logs of collectives, in the light of what else the paste tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from preflight.compat.dumps.facts import Facts, Reading
from preflight.compat.dumps.findings import Finding
from preflight.compat.dumps.judging_machine import NOT_A_VERSION, listed
from preflight.compat.dumps.signatures import Hit

_NO_CODE = ("cuda.no_kernel_image", "cuda.invalid_device_function")
_OWN_KERNELS = {
    "_custom_ops", "apex", "awq_ext", "bitsandbytes", "causal_conv1d", "deep_gemm", "deepspeed",
    "exllama_kernels", "exllamav2", "flash_attn", "flash_attn_2_cuda", "flashinfer", "mamba_ssm",
    "sgl_kernel", "transformer_engine", "vllm_flash_attn", "xformers",
}  # fmt: skip
_NAMED = re.compile(
    r"flash.?attn|flash.?attention|flashinfer|sgl.?kernel|xformers|bitsandbytes|mamba|causal.?conv|"
    r"transformer.?engine|deep.?gemm|exllama|\bawq\b|gptq|\bapex\b|vllm|sglang|_custom_ops|"
    r"custom ops?|own ops|extension|failed with error code no kernel",
    re.IGNORECASE,
)
_BAD_INTERFACE = re.compile(r"(?:lo|docker\d*|veth\w*|virbr\d*|br-\w+):|fe80:|172\.17\.|127\.")


def judge_hits(
    hits: Sequence[Hit], facts: Facts, arch_status: Mapping[str, str]
) -> Iterator[Finding]:
    """Each signature's verdicts; what a missing kernel means depends on torch's own code."""
    for hit in hits:
        one = hit.signature
        if one.id == "cuda.no_device" and (gpus := listed(facts)):
            yield Finding(
                stage="driver",
                status="fail",
                reason=f"{len(gpus)} cards are listed, and CUDA finds none: {_quote(hit)}",
                action=NOT_A_VERSION
                + "; a cuda-compat libcuda in LD_LIBRARY_PATH does it too (under WSL keep "
                "/usr/lib/wsl/lib first)",
                lines=hit.lines,
            )
            continue
        if one.id in _NO_CODE:
            yield from _missing_code(hit, facts, arch_status.get("arch", "unknown"))
        else:
            yield Finding(
                stage=one.stage,
                status=one.status,
                reason=f"{one.cause}: {_quote(hit)}",
                action=one.action,
                lines=hit.lines,
            )
        for also in one.also:
            yield Finding(
                stage=also.stage,
                status=also.status,
                reason=also.reason,
                action=one.action,
                lines=hit.lines,
                follows=one.status == "fail" and also.status != "fail",
            )
        for stage in one.proves:
            yield Finding(
                stage=stage,
                status="pass",
                reason=f"was passed before this was printed: {_quote(hit)}",
                lines=hit.lines[:1],
            )


def _quote(hit: Hit) -> str:
    text = " ".join(hit.text.split())
    return f'"{text}"'


def _missing_code(hit: Hit, facts: Facts, arch_status: str) -> Iterator[Finding]:
    """Whose code is missing: torch's own, an extension's, or nobody can tell."""
    one = hit.signature
    owner = _owner(hit, facts)
    if owner or (arch_status == "pass" and one.id == "cuda.no_kernel_image"):
        whose = owner or "an extension"
        yield Finding(
            stage="import",
            status="fail",
            reason=f"{whose} has no code for this card, and torch itself may well have it: "
            f"{_quote(hit)}",
            action=f"install or build {whose} for the card (TORCH_CUDA_ARCH_LIST), or use another "
            "backend; preflight audit reads the code in each extension",
            lines=hit.lines,
        )
        return
    yield Finding(
        stage="kernel",
        status="fail",
        reason=f"{one.cause}: {_quote(hit)}",
        action=one.action,
        lines=hit.lines,
    )
    if "HIP" in hit.text or "hip" in hit.text:
        yield Finding(
            stage="arch",
            status="warn",
            reason="on AMD this is nearly always a build without the card's gfx target, for there "
            "is no code that the driver could compile instead",
            action='python -c "import torch; print(torch.cuda.get_arch_list())" must name the '
            "target that rocminfo shows",
            lines=hit.lines,
        )


def _owner(hit: Hit, facts: Facts) -> str | None:
    """The extension that a message or the last frame before it names."""
    if found := _NAMED.search(hit.text):
        word = found[0]
        return "an extension" if " " in word or word == "extension" else word
    before = [one for one in facts.frames if one.line <= hit.lines[0]]
    if before and hit.lines[0] - before[-1].line <= 8:
        last = before[-1].value
        if last in _OWN_KERNELS:
            return last
        if last.endswith("_ops"):
            return "an extension"
    return None


def judge_collectives(facts: Facts, hits: Sequence[Hit]) -> Iterator[Finding]:
    """What a log of NCCL tells where no signature does."""
    log = facts.collectives
    nodes = int(log.nodes.value) if log.nodes else 0
    if nodes > 1 and log.network and log.network.value == "Socket":
        yield _over_tcp(log.network, log.no_ib_device, log.no_verbs)
    if nodes > 1 and log.interface and _BAD_INTERFACE.search(log.interface.value):
        yield Finding(
            stage="collective",
            status="warn",
            reason=f"NCCL took {log.interface.value}, which does not lead to other nodes",
            action="set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to the real interface",
            lines=(log.interface.line,),
        )
    if log.no_peer_access and log.host_path:
        yield Finding(
            stage="collective",
            status="warn",
            reason="the cards have no peer access and lie behind host bridges: everything goes "
            "through shared memory of the host, slowly",
            action="nvidia-smi topo -m and topo -p2p r; in a virtual machine ask the seller for "
            "peer access; df -h /dev/shm",
            lines=(log.no_peer_access.line, log.host_path.line),
        )
    known = {line for hit in hits if hit.signature.id != "rccl.iommu" for line in hit.lines}
    unknown = next((one for one in log.warnings if one.line not in known), None)
    if unknown is not None:
        yield _warning(unknown)


def _over_tcp(network: Reading, *others: Reading | None) -> Finding:
    return Finding(
        stage="collective",
        status="warn",
        reason="several nodes, and NCCL goes over TCP sockets",
        action="ls /sys/class/infiniband /dev/infiniband: if something is there, install "
        "libibverbs1 and ibverbs-providers in the image and pass the devices in",
        lines=(network.line, *(one.line for one in others if one)),
    )


def _warning(warning: Reading) -> Finding:
    """A WARN line; one about iommu=pt has its own signature, and RCCL says that it can hang."""
    risk = "iommu=pt" in warning.value
    return Finding(
        stage="collective",
        status="warn",
        reason=f"NCCL or RCCL itself warns: {warning.value[:200]}",
        action="mend what it names; NCCL_DEBUG=INFO and the first WARN of every rank"
        if not risk
        else "add iommu=pt to the kernel's command line and reboot; NCCL_P2P_DISABLE=1 as a probe",
        lines=(warning.line,),
    )
