"""Networks for sequences in PyTorch: a text encoder, a sound encoder with a decoder that caches its
keys and values, translation with attention, and sound sample by sample.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm, self.last_norm = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        count, length, width = x.shape
        query, key, value = (
            part(x).view(count, length, self.heads, width // self.heads).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        weights = torch.softmax(
            query @ key.transpose(-1, -2) / math.sqrt(width // self.heads) + bias, -1
        )
        read = (self.dropout(weights) @ value).transpose(1, 2).reshape(count, length, width)
        x = self.norm(x + self.dropout(self.out(read)))
        y: Tensor = self.last_norm(x + self.dropout(self.outer(functional.gelu(self.inner(x)))))
        return y


class Bert(nn.Module):
    """BERT (Devlin et al., 2018). `second` marks the tokens of the second text, `mask` the tokens
    that are read.
    """

    def __init__(
        self, width: int, layers: int, heads: int, words: int = 30522, max_length: int = 512
    ) -> None:
        super().__init__()
        self.words, self.positions, self.kinds = (
            nn.Embedding(words, width, padding_idx=0),
            nn.Embedding(max_length, width),
            nn.Embedding(2, width),
        )
        self.norm, self.dropout = nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: Tensor, second: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(
            self.norm(self.words(tokens) + self.positions(positions) + self.kinds(second.long()))
        )
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))


class SoundAttention(nn.Module):
    """Attention as in Whisper, whose keys have no bias."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width),
            nn.Linear(width, width, bias=False),
            nn.Linear(width, width),
            nn.Linear(width, width),
        )

    def split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).permute(0, 2, 1, 3)

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        read = functional.scaled_dot_product_attention(
            self.split(self.query(x)), self.split(keys), self.split(values), attn_mask=mask
        )
        out: Tensor = self.out(read.permute(0, 2, 1, 3).flatten(2))
        return out


class SoundBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.norm = SoundAttention(width, heads), nn.LayerNorm(width)
        self.inner, self.last_norm = (
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)),
            nn.LayerNorm(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        x = x + self.attention(y, self.attention.key(y), self.attention.value(y))
        out: Tensor = x + self.inner(self.last_norm(x))
        return out


class SoundEncoder(nn.Module):
    """The encoder of Whisper: logarithms of mel frequencies [batch, 80, frames] through two
    convolutions and blocks.
    """

    def __init__(self, width: int, layers: int, heads: int, max_length: int = 1500) -> None:
        super().__init__()
        self.first, self.second = (
            nn.Conv1d(80, width, 3, padding=1),
            nn.Conv1d(width, width, 3, stride=2, padding=1),
        )
        rates = torch.exp(-math.log(10000) / (width // 2 - 1) * torch.arange(width // 2))
        angles = torch.arange(max_length)[:, None] * rates
        self.register_buffer("positions", torch.cat((angles.sin(), angles.cos()), 1))
        self.blocks = nn.ModuleList(SoundBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, mel: Tensor) -> Tensor:
        x = functional.gelu(self.second(functional.gelu(self.first(mel)))).permute(0, 2, 1)
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.norm(x)
        return out


class SoundDecoder(nn.Module):
    """One step of Whisper's decoder: the scores of the next token. The keys and values of previous
    tokens are buffers that it writes to.
    """

    def __init__(
        self, width: int, layers: int, heads: int, words: int = 51865, max_length: int = 448
    ) -> None:
        super().__init__()
        self.words, self.positions = (
            nn.Embedding(words, width),
            nn.Parameter(torch.randn(max_length, width) * 0.02),
        )
        self.self_attention, self.cross = (
            nn.ModuleList(SoundAttention(width, heads) for _ in range(layers)) for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 * layers + 1))
        self.inner = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers)
        )
        self.register_buffer("keys", torch.zeros(layers, 1, max_length, width))
        self.register_buffer("values", torch.zeros(layers, 1, max_length, width))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

    def forward(self, token: Tensor, sound: Tensor) -> Tensor:
        x = self.words(token) + self.positions[self.position]
        visible = torch.arange(self.keys.shape[2]) <= self.position
        for number, (self_attention, cross, inner) in enumerate(
            zip(self.self_attention, self.cross, self.inner, strict=True)
        ):
            y = self.norms[3 * number](x)
            self.keys[number].index_copy_(1, self.position, self_attention.key(y))
            self.values[number].index_copy_(1, self.position, self_attention.value(y))
            x = x + self_attention(y, self.keys[number], self.values[number], visible[None])
            x = x + cross(self.norms[3 * number + 1](x), cross.key(sound), cross.value(sound))
            x = x + inner(self.norms[3 * number + 2](x))
        self.position += 1
        return self.norms[-1](x) @ self.words.weight.T


class WaveNet(nn.Module):
    """WaveNet (van den Oord et al., 2016): scores of the next of 256 levels at each position, from
    the levels up to it.
    """

    def __init__(
        self, width: int = 64, skip: int = 256, stacks: int = 3, layers: int = 10, levels: int = 256
    ) -> None:
        super().__init__()
        self.levels, self.dilations = (
            levels,
            [2**layer for _ in range(stacks) for layer in range(layers)],
        )
        self.first = nn.Conv1d(levels, width, 2)
        self.gated = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 2, dilation=dilation) for dilation in self.dilations
        )
        self.residuals, self.skipped = (
            nn.ModuleList(nn.Conv1d(width, out, 1) for _ in self.dilations) for out in (width, skip)
        )
        self.last = nn.Sequential(
            nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, levels, 1)
        )

    def forward(self, sound: Tensor) -> Tensor:
        x = self.first(
            functional.pad(functional.one_hot(sound, self.levels).transpose(1, 2).float(), (1, 0))
        )
        total: Tensor | float = 0.0
        for dilation, gated, residuals, skipped in zip(
            self.dilations, self.gated, self.residuals, self.skipped, strict=True
        ):
            content, gate = gated(functional.pad(x, (dilation, 0))).chunk(2, 1)
            y = torch.tanh(content) * torch.sigmoid(gate)
            total = total + skipped(y)
            x = x + residuals(y)
        scores: Tensor = self.last(total)
        return scores


class Listener(nn.Module):
    """Stacked recurrent layers, bidirectional and not, with an output at each step."""

    def __init__(self, width: int = 40, hidden: int = 96, letters: int = 29) -> None:
        super().__init__()
        self.both = nn.LSTM(width, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.forth = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, letters)

    def forward(self, sound: Tensor) -> tuple[Tensor, Tensor]:
        """The scores of each step, and the last state."""
        features, _ = self.both(sound)
        encoded, state = self.forth(features)
        return torch.log_softmax(self.out(encoded), -1), state


class Translator(nn.Module):
    """Translation of words (Bahdanau et al., 2014): a bidirectional GRU reads the words. Another
    one writes words, with attention to the states of the first, until it writes `end`.
    """

    def __init__(
        self,
        words: int = 8000,
        width: int = 256,
        hidden: int = 512,
        max_length: int = 24,
        end: int = 1,
    ) -> None:
        super().__init__()
        self.max_length, self.end = max_length, end
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = nn.GRU(width, hidden, batch_first=True, bidirectional=True)
        self.start = nn.Linear(2 * hidden, hidden)
        self.of_read, self.of_state, self.energy = (
            nn.Linear(2 * hidden, hidden),
            nn.Linear(hidden, hidden),
            nn.Linear(hidden, 1, bias=False),
        )
        self.step, self.out = (
            nn.GRUCell(width + 2 * hidden, hidden),
            nn.Linear(hidden + 2 * hidden + width, words),
        )

    def forward(self, text: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The written tokens and their scores, and their number."""
        read, _ = self.encoder(self.source(text))
        state = torch.tanh(self.start(read[:, -1]))
        keys = self.of_read(read)
        token = torch.zeros([1], dtype=torch.int64)
        output_tokens = torch.zeros([self.max_length], dtype=torch.int64)
        scores = torch.zeros([self.max_length, self.out.out_features])
        count = torch.zeros([1], dtype=torch.int64)
        unfinished = torch.ones([], dtype=torch.bool)
        while bool(unfinished):
            word = self.target(token)
            weights = torch.softmax(
                self.energy(torch.tanh(keys + self.of_state(state).unsqueeze(1))), 1
            )
            context = (weights * read).sum(1)
            state = self.step(torch.cat([word, context], 1), state)
            logits = self.out(torch.cat([state, context, word], 1))
            token = logits.argmax(1)
            output_tokens = output_tokens.index_copy(0, count, token)
            scores = scores.index_copy(0, count, logits)
            count = count + 1
            unfinished = ((token != self.end) & (count < self.max_length)).all()
        return output_tokens, scores, count
