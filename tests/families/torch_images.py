"""Networks for images and volumes in PyTorch: a detector with non-maximum suppression of its boxes,
and U-Nets.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.frontends.torch.vision import torchvision

VISION = torchvision().ops
CLASSES = 80
BINS = 16
STRIDES = (8, 16, 32)


class Conv(nn.Sequential):
    def __init__(self, in_channels: int, out_channels: int, size: int = 1, stride: int = 1) -> None:
        norm = nn.BatchNorm2d(out_channels, eps=1e-3, momentum=0.03)
        super().__init__(
            nn.Conv2d(in_channels, out_channels, size, stride, size // 2, bias=False),
            norm,
            nn.SiLU(),
        )


class Bottleneck(nn.Module):
    def __init__(self, width: int, *, adds: bool) -> None:
        super().__init__()
        self.first, self.second, self.adds = Conv(width, width, 3), Conv(width, width, 3), adds

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x))
        return x + y if self.adds else y


class C2f(nn.Module):
    """A cross-stage partial block that concatenates the outputs of all bottlenecks."""

    def __init__(
        self, in_channels: int, out_channels: int, count: int, *, adds: bool = True
    ) -> None:
        super().__init__()
        self.width = out_channels // 2
        self.first, self.last = (
            Conv(in_channels, out_channels),
            Conv((2 + count) * self.width, out_channels),
        )
        self.parts = nn.ModuleList(Bottleneck(self.width, adds=adds) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        features = list(self.first(x).split((self.width, self.width), 1))
        for part in self.parts:
            features.append(part(features[-1]))
        joined: Tensor = self.last(torch.cat(features, 1))
        return joined


class Pyramid(nn.Module):
    """Max pooling over growing windows."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.last, self.pool = (
            Conv(width, width // 2),
            Conv(width * 2, width),
            nn.MaxPool2d(5, 1, 2),
        )

    def forward(self, x: Tensor) -> Tensor:
        features = [self.first(x)]
        for _ in range(3):
            features.append(self.pool(features[-1]))
        joined: Tensor = self.last(torch.cat(features, 1))
        return joined


class Head(nn.Module):
    """For three feature maps: distances to the sides of a box, as distributions over bins, and
    scores of classes.
    """

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        boxes, scores = max(16, widths[0] // 4, 4 * BINS), max(widths[0], CLASSES)
        self.boxes = nn.ModuleList(
            nn.Sequential(
                Conv(width, boxes, 3), Conv(boxes, boxes, 3), nn.Conv2d(boxes, 4 * BINS, 1)
            )
            for width in widths
        )
        self.scores = nn.ModuleList(
            nn.Sequential(
                Conv(width, scores, 3), Conv(scores, scores, 3), nn.Conv2d(scores, CLASSES, 1)
            )
            for width in widths
        )
        self.register_buffer("bins", torch.arange(BINS, dtype=torch.float32))

    def forward(self, maps: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Boxes [anchors, 4] by their corners in pixels, and scores [anchors, classes]."""
        boxes, scores = [], []
        for x, stride, box, score in zip(maps, STRIDES, self.boxes, self.scores, strict=True):
            height, width = x.shape[2:]
            columns, rows = torch.arange(width) + 0.5, torch.arange(height) + 0.5
            rows, columns = torch.meshgrid(rows, columns, indexing="ij")
            centre = torch.stack((columns, rows), -1).view(-1, 2)
            sides = box(x).view(4, BINS, -1).softmax(1).permute(2, 0, 1) @ self.bins
            boxes.append(torch.cat((centre - sides[:, :2], centre + sides[:, 2:]), 1) * stride)
            scores.append(score(x).view(CLASSES, -1).sigmoid().T)
        return torch.cat(boxes), torch.cat(scores)


class Yolo(nn.Module):
    """As YOLOv8n: a CSP backbone, a pyramid up and down, a decoupled head, and the boxes that
    remain after suppression of overlapping ones.
    """

    def __init__(self, threshold: float = 0.5, overlap: float = 0.45) -> None:
        super().__init__()
        self.threshold, self.overlap = threshold, overlap
        self.stem = nn.Sequential(
            Conv(3, 16, 3, 2),
            Conv(16, 32, 3, 2),
            C2f(32, 32, 1),
            Conv(32, 64, 3, 2),
            C2f(64, 64, 2),
        )
        self.middle = nn.Sequential(Conv(64, 128, 3, 2), C2f(128, 128, 2))
        self.deep = nn.Sequential(Conv(128, 256, 3, 2), C2f(256, 256, 1), Pyramid(256))
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.up_middle, self.up_fine = C2f(384, 128, 1, adds=False), C2f(192, 64, 1, adds=False)
        self.down_fine, self.down_middle = Conv(64, 64, 3, 2), Conv(128, 128, 3, 2)
        self.out_middle, self.out_deep = C2f(192, 128, 1, adds=False), C2f(384, 256, 1, adds=False)
        self.head = Head((64, 128, 256))

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        fine = self.stem(image)
        middle = self.middle(fine)
        deep = self.deep(middle)
        middle = self.up_middle(torch.cat((self.up(deep), middle), 1))
        fine = self.up_fine(torch.cat((self.up(middle), fine), 1))
        middle = self.out_middle(torch.cat((self.down_fine(fine), middle), 1))
        deep = self.out_deep(torch.cat((self.down_middle(middle), deep), 1))
        boxes, every = self.head([fine, middle, deep])
        scores, classes = every.max(1)
        likely, step = scores > self.threshold, boxes.max() + 1
        boxes, scores, classes = boxes[likely], scores[likely], classes[likely]
        separated = boxes + classes[:, None] * step
        retained = VISION.nms(separated, scores, self.overlap)
        return {"boxes": boxes[retained], "scores": scores[retained], "classes": classes[retained]}


def convolutions(
    kind: type[nn.Module], norm: type[nn.Module], in_channels: int, out_channels: int
) -> nn.Sequential:
    parts = []
    for width in (in_channels, out_channels):
        parts += [
            kind(width, out_channels, 3, padding=1, bias=False),
            norm(out_channels),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*parts)


class UNet(nn.Module):
    """U-Net in 2 or 3 dimensions. It upsamples by transposed convolutions or by resizing. Resizing
    pads the rows that downsampling dropped, so that all sizes fit.
    """

    def __init__(
        self,
        dimensions: int,
        in_channels: int,
        widths: tuple[int, ...],
        classes: int,
        *,
        resizes: bool = False,
    ) -> None:
        super().__init__()
        kind, norm, transposed, pool = {
            2: (nn.Conv2d, nn.BatchNorm2d, nn.ConvTranspose2d, nn.MaxPool2d),
            3: (nn.Conv3d, nn.BatchNorm3d, nn.ConvTranspose3d, nn.MaxPool3d),
        }[dimensions]
        mode = {2: "bilinear", 3: "trilinear"}[dimensions]
        pairs = list(pairwise(widths))
        self.first = convolutions(kind, norm, in_channels, widths[0])
        self.down = nn.ModuleList(
            nn.Sequential(pool(2), convolutions(kind, norm, *pair)) for pair in pairs
        )
        self.up = nn.ModuleList(
            nn.Sequential(
                nn.Upsample(scale_factor=2, mode=mode, align_corners=True), kind(above, below, 1)
            )
            if resizes
            else transposed(above, below, 2, stride=2)
            for below, above in reversed(pairs)
        )
        self.join = nn.ModuleList(
            convolutions(kind, norm, 2 * below, below) for below, _ in reversed(pairs)
        )
        self.last, self.resizes = kind(widths[0], classes, 1), resizes

    def forward(self, image: Tensor) -> Tensor:
        skips = [self.first(image)]
        for down in self.down:
            skips.append(down(skips[-1]))
        x = skips.pop()
        for up, join in zip(self.up, self.join, strict=True):
            skip, x = skips.pop(), up(x)
            if self.resizes:
                missing = [a - b for a, b in zip(skip.shape[2:], x.shape[2:], strict=True)]
                x = functional.pad(
                    x,
                    [part for size in reversed(missing) for part in (size // 2, size - size // 2)],
                )
            x = join(torch.cat((skip, x), 1))
        logits: Tensor = self.last(x)
        return logits
