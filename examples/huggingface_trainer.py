"""A Hugging Face Trainer whose loss is weighted by a Reweighter: python examples/huggingface_trainer.py"""

import tempfile

import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from reweigh import Reweighter

TOPICS, WORDS, LENGTH = 3, 60, 12  # a third of the words belongs to each topic, but any topic may use any word


def notes(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Word numbers of short texts, and their topics."""
    generator = torch.Generator().manual_seed(seed)
    topics = torch.randint(TOPICS, (count,), generator=generator)
    own = torch.randint(WORDS // TOPICS, (count, LENGTH), generator=generator) * TOPICS + topics[:, None]
    others = torch.randint(WORDS, (count, LENGTH), generator=generator)
    return torch.where(torch.rand(count, LENGTH, generator=generator) < 0.5, own, others), topics


class ReweighingTrainer(Trainer):
    """Learns the weights in every tenth step, on trusted samples, and trains on the weighted loss."""

    def __init__(self, *arguments, labels: torch.Tensor, trusted: tuple[dict, torch.Tensor], **options):
        super().__init__(*arguments, **options)
        self.reweighter = Reweighter(self.model, self.optimizer, labels)
        self.trusted = trusted

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        if model.training and self.state.global_step % 10 == 0:
            self.reweighter.learn((inputs, labels), self.trusted)
        outputs = model(**inputs)
        losses = nn.functional.cross_entropy(outputs.logits, labels, reduction="none")
        weights = self.reweighter.weigh(losses, labels)
        loss = (weights * losses).sum() / weights.sum()
        return (loss, outputs) if return_outputs else loss


def main() -> float:
    torch.manual_seed(0)
    words, truth = notes(600, seed=0)
    given = torch.where(torch.rand(600) < 0.3, (truth + 1) % TOPICS, truth)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForSequenceClassification(BertConfig(vocab_size=WORDS, num_labels=TOPICS, **sizes))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    rows = [{"input_ids": row, "labels": label} for row, label in zip(words[60:], given[60:], strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        options = {"num_train_epochs": 6, "per_device_train_batch_size": 32, "report_to": [], "use_cpu": True}
        arguments = TrainingArguments(folder, save_strategy="no", disable_tqdm=True, logging_steps=1000, **options)
        data = {"train_dataset": rows, "labels": given[60:], "trusted": ({"input_ids": words[:60]}, truth[:60])}
        ReweighingTrainer(model, arguments, optimizers=(optimizer, None), **data).train()
    words, truth = notes(300, seed=1)
    return float((model.eval()(words).logits.argmax(1) == truth).float().mean())


if __name__ == "__main__":
    print(f"{main():.1%} of the new texts get the right topic; 30 % of the labels were wrong")
