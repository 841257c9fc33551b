"""A loop with accelerate that owns its backward: python examples/accelerate_loop.py"""

import torch
from accelerate import Accelerator
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from reweigh import Reweighter


def main() -> float:
    torch.manual_seed(0)
    pixels, truth = load_digits(return_X_y=True)
    inputs, truth = torch.tensor(pixels, dtype=torch.float32) / 16, torch.tensor(truth)
    given = torch.where(torch.rand(len(truth)) < 0.3, torch.randint(10, (len(truth),)), truth)
    train = TensorDataset(inputs[100:900], given[100:900])

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    reweighter = Reweighter(model, optimizer, given[100:900])  # before prepare: the optimizer is torch's own here
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(train, batch_size=50, shuffle=True))
    trusted = (inputs[:100].to(accelerator.device), truth[:100].to(accelerator.device))  # checked by hand

    for _ in range(8):
        for number, (x, y) in enumerate(loader):
            if number % 5 == 0:
                reweighter.learn((x, y), trusted)  # touches neither the model nor its gradients
            with accelerator.accumulate(model):
                losses = nn.functional.cross_entropy(model(x), y, reduction="none")
                weights = reweighter.weigh(losses, y)
                accelerator.backward((weights * losses).sum() / weights.sum())
                accelerator.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                optimizer.zero_grad()
    return float((model(inputs[900:]).argmax(1) == truth[900:]).float().mean())


if __name__ == "__main__":
    print(f"{main():.1%} of the test digits are right; 27 % of the labels were wrong")
