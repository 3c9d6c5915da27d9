"""The network: convolutions in residual blocks, in plain PyTorch. train.py trains it, model.py serves it."""
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        inner = F.relu(self.norm1(self.conv1(x)))
        return F.relu(x + self.norm2(self.conv2(inner)))


class Reader(nn.Module):
    """Takes (n, 1, 8, 8) pixels from 0 (paper) to 1 (ink) and returns (n, 10) scores."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), Block(24), Block(24),
            nn.Conv2d(24, 48, 3, stride=2, padding=1), Block(48),
            nn.Flatten(), nn.Linear(48 * 4 * 4, 10))

    def forward(self, pixels):
        return self.layers(pixels)
