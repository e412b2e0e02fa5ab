"""Two networks of the same size, two optimizers of the same class, stepping in turn."""
import torch
from torch import nn

from digits import digits, show

torch.manual_seed(0)
images, _ = digits()
generator = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid())
critic = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-4)
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4)
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(25):
    real = images[32 * step:32 * (step + 1)]
    fake = generator(torch.randn(32, 16))
    critic_optimizer.zero_grad()
    critic_loss = criterion(critic(real), ones) + criterion(critic(fake.detach()), zeros)
    critic_loss.backward()
    critic_optimizer.step()

    generator_optimizer.zero_grad()
    generator_loss = criterion(critic(fake), ones)
    generator_loss.backward()
    generator_optimizer.step()
    show(critic_loss)
    show(generator_loss)
