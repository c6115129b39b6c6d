"""Small networks for the later stages: a decoder-only transformer and a convolution.

Shapes are written as suffixes: B batch, S sequence, D width, H heads, K width of a head, F hidden
width of the feed-forward part, V vocabulary; N C Y X for images.

Every operation runs in the dtype of the parameters, without hidden casts, so that the rounding
that ``reference`` puts into the float64 copy stands where the device rounds.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import nn
from torch.nn import functional

Taps = Dict[str, torch.Tensor]
"""Named intermediate results."""

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS = 97, 64, 4, 128, 2


def fused_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """What the device chooses for causal attention over q, k, v of shape BHSK."""
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def written_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The same by its formula, sharing no code with the fused kernels."""
    scores_BHSS = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    later_SS = torch.ones(scores_BHSS.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    weights_BHSS: torch.Tensor = scores_BHSS.masked_fill(later_SS, float("-inf")).softmax(-1)
    out_BHSK: torch.Tensor = weights_BHSS @ v
    return out_BHSK


def rotate(x_BHSK: torch.Tensor, table_2SK: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding: pairs (i, i + K/2) turn by an angle that grows with S."""
    half = x_BHSK.shape[-1] // 2
    turned_BHSK = torch.cat((-x_BHSK[..., half:], x_BHSK[..., :half]), dim=-1)
    cos_SK, sin_SK = table_2SK[:, : x_BHSK.shape[-2]].unbind()
    return x_BHSK * cos_SK + turned_BHSK * sin_SK


def rotary_table(length: int, width: int) -> torch.Tensor:
    """Cosines and sines, of shape 2SK."""
    rate = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle_SK = torch.outer(torch.arange(length, dtype=torch.float64), rate).repeat(1, 2)
    return torch.stack((angle_SK.cos(), angle_SK.sin())).float()


class Norm(nn.Module):
    """RMSNorm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x_BSD: torch.Tensor) -> torch.Tensor:
        """Scale to a root mean square of one, then by the weight."""
        power_BS1 = (x_BSD * x_BSD).mean(-1, keepdim=True)
        return x_BSD * torch.rsqrt(power_BS1 + 1e-5) * self.weight


class Attention(nn.Module):
    """Causal attention with rotary positions."""

    table_2SK: torch.Tensor

    def __init__(self, length: int) -> None:
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.register_buffer("table_2SK", rotary_table(length, WIDTH // HEADS), persistent=False)
        self.attend: Attend = fused_attention

    def forward(self, x_BSD: torch.Tensor) -> torch.Tensor:
        """One attention layer."""
        B, S, D = x_BSD.shape
        qkv_3BHSK = self.inputs(x_BSD).view(B, S, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        q_BHSK, k_BHSK, v_BHSK = qkv_3BHSK.unbind()
        q_BHSK, k_BHSK = rotate(q_BHSK, self.table_2SK), rotate(k_BHSK, self.table_2SK)
        out_BHSK = self.attend(q_BHSK, k_BHSK, v_BHSK)
        out: torch.Tensor = self.output(out_BHSK.transpose(1, 2).reshape(B, S, D))
        return out


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x_BSD: torch.Tensor) -> torch.Tensor:
        """One feed-forward layer."""
        out_BSD: torch.Tensor = self.down(functional.silu(self.gate(x_BSD)) * self.up(x_BSD))
        return out_BSD


class Block(nn.Module):
    """Attention and feed-forward, each normalised before and added to what came in."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.attention_norm = Norm(WIDTH)
        self.attention = Attention(length)
        self.feed_forward_norm = Norm(WIDTH)
        self.feed_forward = FeedForward()

    def forward(self, x_BSD: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The sum, and the two parts before they are added."""
        attended_BSD = self.attention(self.attention_norm(x_BSD))
        x_BSD = x_BSD + attended_BSD
        fed_BSD = self.feed_forward(self.feed_forward_norm(x_BSD))
        return x_BSD + fed_BSD, attended_BSD, fed_BSD


class Transformer(nn.Module):
    """Decoder-only transformer; a module can be sharded layer by layer through ``blocks``."""

    def __init__(self, seed: int, length: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(length) for _ in range(LAYERS))
        self.norm = Norm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        initialize(self, seed)

    def forward(self, tokens_BS: torch.Tensor, taps: Optional[Taps] = None) -> torch.Tensor:
        """Logits of shape BSV; ``taps`` is filled with the parts of every block."""
        x_BSD = self.embedding(tokens_BS)
        for index, block in enumerate(self.blocks):
            x_BSD, attended_BSD, fed_BSD = block(x_BSD)
            if taps is not None:
                taps[f"blocks.{index}.attention"] = attended_BSD
                taps[f"blocks.{index}.feed_forward"] = fed_BSD
        logits_BSV: torch.Tensor = self.head(self.norm(x_BSD))
        if taps is not None:
            taps["logits"] = logits_BSV
        return logits_BSV

    def attend_with(self, attend: Attend) -> None:
        """Choose the attention of every block."""
        for module in self.modules():
            if isinstance(module, Attention):
                module.attend = attend


class Convolution(nn.Module):
    """3x3, a strided 3x3, a grouped 5x5, then a mean over the image and a linear layer."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.strided = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.grouped = nn.Conv2d(32, 32, 5, padding=2, groups=4)
        self.head = nn.Linear(32, 10)
        initialize(self, seed)

    def forward(self, x_NCYX: torch.Tensor, taps: Optional[Taps] = None) -> torch.Tensor:
        """Logits of shape NV; ``taps`` is filled with every layer's result."""
        steps: Tuple[Tuple[str, Callable[..., Any]], ...] = (
            ("first", self.first),
            ("strided", self.strided),
            ("grouped", self.grouped),
        )
        for name, layer in steps:
            x_NCYX = layer(x_NCYX)
            if taps is not None:
                taps[name] = x_NCYX
            x_NCYX = functional.silu(x_NCYX)
        logits_NV: torch.Tensor = self.head(x_NCYX.mean((-1, -2)))
        if taps is not None:
            taps["logits"] = logits_NV
        return logits_NV


def initialize(module: nn.Module, seed: int) -> None:
    """Fill all parameters from the seed, so that what comes in has the size of what goes out."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() < 2:  # weights of norms, biases
                noise = 1.0 + 0.1 * noise if bool((parameter == 1).all()) else 0.1 * noise
            elif parameter.shape[0] != VOCABULARY or parameter.shape[1] != WIDTH:
                noise = noise / parameter[0].numel() ** 0.5
            parameter.copy_(noise)


def tokens(rows: int, length: int, seed: int) -> torch.Tensor:
    """Random tokens of shape BS, on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCABULARY, (rows, length), generator=generator)


def loss(logits: torch.Tensor, targets: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    """Cross entropy over the last dimension."""
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction=reduction)
