"""Nothing but `understudy.acting` draws actions from logits."""

from __future__ import annotations

import re
from pathlib import Path

import understudy

SOURCE = Path(understudy.__file__).parent
ALLOWED = "acting"
SAMPLER = re.compile(
    r"gumbel\(|standard_exponential\(|multinomial\(|Categorical\(|\.choice\([^)]*\bp="  # draws by weights
    r"|cumsum\([^)]*\)\s*[<>]|accumulate\(weights"  # draws by a cumulative sum
    r"|\(1(\.0)?\s*-\s*[\w.]*explor\w*\)"  # a policy mixed with the uniform one
    r"|exp\([\w.\[\]]*logits[\w.\[\]]*\s*-"  # a softmax of logits
)
# The softmax itself: the one of the objectives, and torch's where torch computes.
SOFTMAX = {"learning/losses.py"}
# These draw past versions and recorded games, not actions.
OTHER_DRAWS = {"parallel/league.py", "experience/replay.py"}


def samplers(source: Path) -> list[str]:
    """Lines that draw actions, as `file:line: text`."""
    found = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        if name.split("/")[0] == ALLOWED or name in SOFTMAX | OTHER_DRAWS:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if SAMPLER.search(line):
                found.append(f"{name}:{number}: {line.strip()}")
    return found


def test_actions_are_drawn_in_one_place_only() -> None:
    assert not samplers(SOURCE), "Use understudy.acting.sampling instead of:\n" + "\n".join(samplers(SOURCE))


def test_the_search_finds_every_kind_of_sampler(tmp_path: Path) -> None:
    lines = [
        "places = (log_probs + self._rng.gumbel(size=log_probs.shape)).argmax(axis=1)",
        "noise = rng.standard_exponential(logits.shape)",
        "actions = (probabilities.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)",
        "rows.append((1 - model.exploration) * weights / weights.sum())",
        "action = rng.choice(n_actions, p=policy)",
        "weights = np.exp(logits - logits.max())",
        "action = torch.multinomial(probs, 1)",
    ]
    (tmp_path / "elsewhere.py").write_text("\n".join(lines), encoding="utf-8")
    assert samplers(tmp_path) == [f"elsewhere.py:{i}: {line}" for i, line in enumerate(lines, 1)]
