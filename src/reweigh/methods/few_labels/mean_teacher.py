"""Mean Teacher: the model should classify unlabeled samples as the EMA of its weights does."""

from torch import Tensor

from reweigh.methods.few_labels.pi_model import PiModel
from reweigh.pseudo_labels import predicted_in_training


class MeanTeacher(PiModel):
    """Mean Teacher (Tarvainen and Valpola, NeurIPS 2017): the Pi-model whose second prediction is that of a teacher.

        mean of L(f(x), y) over labeled + factor(t) * mean of |p - teacher's p'|^2 / num_classes over all

    The teacher is the EMA of the model, which is evaluated in the end; its predictions are held constant. It predicts
    with dropout and the BatchNorm statistics of the batch, as the student does. All options of ``pi-model``. The
    paper's factor is 100 (with Adam), reached after 40,000 of 150,000 steps, and its decay 0.99 before and 0.999 after.

    Tarvainen, Valpola: Mean Teachers Are Better Role Models.
    """

    def _second(self, inputs: Tensor) -> Tensor:
        return predicted_in_training(self._average.model, inputs)
