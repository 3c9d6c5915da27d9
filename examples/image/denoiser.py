"""The network that draws: it gets a picture with noise in it, and separates the picture from the noise.

Plain PyTorch, built like large image models: residual blocks on two scales, each with the amount of noise and the wanted
digit as inputs. model.py draws with it, train.py trains it.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

PIXELS = 8  # a digit is 8 x 8 numbers, from -1 (paper) to 1 (ink)
ANY = 10  # the label for "any digit", for classifier-free guidance


def shares(time):
    """Returns how much of a mixture is picture and how much is noise: at time 0 all picture, at time 1 all noise."""
    angle = time * math.pi / 2
    return torch.cos(angle), torch.sin(angle)


class Block(nn.Module):
    def __init__(self, channels, told):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.tell = nn.Linear(told, 2 * channels)
        nn.init.zeros_(self.conv2.weight)  # so that a block changes nothing before it is trained

    def forward(self, x, told):
        scale, shift = self.tell(told)[:, :, None, None].chunk(2, dim=1)
        inner = self.conv1(F.silu(self.norm1(x)))
        return x + self.conv2(F.silu(self.norm2(inner) * (1 + scale) + shift))


class Denoiser(nn.Module):
    def __init__(self, fine=48, coarse=96, told=64):
        super().__init__()
        self.register_buffer("rhythms", torch.pi * 2.0 ** torch.arange(6), persistent=False)
        self.time = nn.Linear(12, told)
        self.digit = nn.Embedding(11, told)
        self.enter = nn.Conv2d(1, fine, 3, padding=1)
        self.fine1 = nn.ModuleList(Block(fine, told) for _ in range(2))
        self.down = nn.Conv2d(fine, coarse, 3, stride=2, padding=1)
        self.coarse = nn.ModuleList(Block(coarse, told) for _ in range(2))
        self.up = nn.Conv2d(coarse, fine, 3, padding=1)
        self.fine2 = nn.ModuleList(Block(fine, told) for _ in range(2))
        self.leave = nn.Sequential(nn.GroupNorm(8, fine), nn.SiLU(), nn.Conv2d(fine, 1, 3, padding=1))

    def forward(self, noisy, time, digit):
        """Takes mixtures (n, 1, 8, 8), times (n,) from 0 to 1 and labels (n,) from 0 to 10. Returns the direction (n, 1, 8, 8) in
        which each mixture changes with time."""
        angles = time[:, None] * self.rhythms
        told = F.silu(self.time(torch.cat([angles.sin(), angles.cos()], dim=1)) + self.digit(digit))
        x = self.enter(noisy)
        for block in self.fine1:
            x = block(x, told)
        low = self.down(x)
        for block in self.coarse:
            low = block(low, told)
        x = x + self.up(F.interpolate(low, scale_factor=2.0))
        for block in self.fine2:
            x = block(x, told)
        return self.leave(x)
