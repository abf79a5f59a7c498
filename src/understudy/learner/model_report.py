"""What the learner reports when its model is broken, and when it is usable again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from understudy.learner.model_check import newest_sound_version
from understudy.learner.training import Training
from understudy.models.store import ModelStore
from understudy.run.log import say


class ModelReport:
    """The problem with the model, if there is one, and what to do about it. It is logged once, then shown."""

    def __init__(self, root: Path, store: ModelStore, log: Callable[[str, Mapping[str, str]], None]) -> None:
        self._root = root
        self._store = store
        self._log = log
        self.trouble: dict[str, str] | None = None
        """`what` and `advice`."""

    def look(self, training: Training) -> bool:
        """Update the state; True if there is a new problem."""
        what = training.trouble
        if what is None:
            if self.trouble is not None:
                say("The model can learn again.")
                self._log("Model Recovered", {"Version": str(training.version)})
            self.trouble = None
            return False
        if self.trouble is not None and self.trouble["what"] == what:
            return False
        version = newest_sound_version(self._store, training.version or 0)
        command = f"understudy models {self._root} --rollback {'VERSION' if version is None else version}"
        advice = f"Go back to a version that can: `{command}`. Until then games wait; the learner continues by itself."
        self.trouble = {"what": what, "advice": advice}
        say(f"{what} {advice}")
        self._log("Model Broken", {"What": what, "What To Do": advice})
        return True
