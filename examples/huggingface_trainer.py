"""A Hugging Face Trainer that learns how much each text counts: python examples/huggingface_trainer.py"""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from reweigh.integrations.transformers import ReweighTrainer

TOPICS, WORDS, LENGTH, CHECKED = 3, 60, 12, 60  # a third of the words belongs to each topic; any topic may use any word


def notes(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:  # word numbers of short texts, and topics
    generator = torch.Generator().manual_seed(seed)
    topics = torch.randint(TOPICS, (count,), generator=generator)
    own = torch.randint(WORDS // TOPICS, (count, LENGTH), generator=generator) * TOPICS + topics[:, None]
    others = torch.randint(WORDS, (count, LENGTH), generator=generator)
    return torch.where(torch.rand(count, LENGTH, generator=generator) < 0.5, own, others), topics


def rows(words: torch.Tensor, labels: torch.Tensor) -> list[dict]:
    return [{"input_ids": row, "labels": int(label)} for row, label in zip(words, labels, strict=True)]


def accuracy(kind: type[Trainer], train: list[dict], seed: int, **options) -> float:
    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForSequenceClassification(BertConfig(vocab_size=WORDS, num_labels=TOPICS, **sizes))
    quiet = {"save_strategy": "no", "disable_tqdm": True, "logging_strategy": "no", "report_to": [], "use_cpu": True}
    schedule = {"num_train_epochs": 12, "per_device_train_batch_size": 32, "learning_rate": 3e-3, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        kind(model, TrainingArguments(folder, **quiet, **schedule), train_dataset=train, **options).train()
    words, truth = notes(1000, seed=1)
    return float((model.eval()(words).logits.argmax(1) == truth).float().mean())


def main(seeds: int = 4) -> dict[str, float]:
    found = {}
    for seed in range(seeds):
        words, truth = notes(1200, seed=100 + seed)
        wrong = torch.rand(1200, generator=torch.Generator().manual_seed(seed)) < 0.3
        given = torch.where(wrong, (truth + 1) % TOPICS, truth)
        checked, plain = rows(words[:CHECKED], truth[:CHECKED]), rows(words[CHECKED:], given[CHECKED:])
        ours = {"trusted_dataset": checked, "reweigh": {"warm_up": 2, "meta_lr": 1e-2}}
        for name, args in {
            "plain": (Trainer, plain, {}),
            "plain with the checked rows": (Trainer, plain + checked, {}),
            "ours": (ReweighTrainer, plain + checked, ours),
        }.items():
            found[name] = found.get(name, 0.0) + accuracy(*args[:2], seed, **args[2]) / seeds
    return found


if __name__ == "__main__":
    print(*(f"{name:30}{share:.1%}" for name, share in main().items()), sep="\n")
