"""Mean Teacher: the model should classify unlabeled samples as the EMA of its weights does."""

import torch
from torch import Tensor
from torch.func import functional_call

from reweigh.methods.few_labels.pi_model import PiModel


class MeanTeacher(PiModel):
    """Mean Teacher (Tarvainen and Valpola, NeurIPS 2017): the Pi-model whose second prediction is that of a teacher.

        mean of L(f(x), y) over labeled + factor(t) * mean of |p - teacher's p'|^2 / num_classes over all

    The teacher is the EMA of the model, which is evaluated in the end; its predictions are held constant. It predicts
    with dropout and the BatchNorm statistics of the batch, as the student does. All options of ``pi-model``. The
    paper's factor is 100 (with Adam), reached after 40,000 of 150,000 steps, and its decay 0.99 before and 0.999 after.

    Tarvainen, Valpola: Mean Teachers Are Better Role Models.
    """

    @torch.no_grad()
    def _second(self, inputs: Tensor) -> Tensor:
        teacher = self._average.model.train()
        # its running statistics are the average of the student's; this forward must not move them
        buffers = {name: buffer.clone() for name, buffer in teacher.named_buffers()}
        return functional_call(teacher, buffers, (inputs,)).softmax(1)
