"""The core's metrics: what each means, what is normal, and what to do otherwise."""

from __future__ import annotations

from dataclasses import dataclass

GROUPS: dict[str, str] = {
    "playing": "How well the bot plays",
    "learning": "How the model learns",
    "speed": "How fast it goes",
    "queue": "Games and files",
    "machine": "Learner and machine",
    "game": "In one game",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """What a figure means. `unit` is '' for a plain number; `counter`: it only grows, in Prometheus' sense."""

    name: str
    title: str
    unit: str
    group: str
    """A key of GROUPS, or the title of a group that a game adds."""
    what: str
    normal: str
    otherwise: str
    counter: bool = False
    range: tuple[float, float] | None = None
    """The numbers of `normal`, where charts can draw them."""
    up_to: str = ""
    """The setting that is the upper end of `range`, where the model has it."""


CORE_METRICS: tuple[Metric, ...] = (
    Metric(
        "rating",
        "Rating",
        "Elo",
        "playing",
        "The strength of a version, from one joint fit (Bradley-Terry with draws) over all recorded comparisons: "
        "evaluation games, simulated and live games of the gate, arena games. 0 is a player who wins half of the "
        "evaluation games, or, without any, the mean of the versions. The band is the 95 % interval.",
        "It rises, and the bands of early and late versions separate. A band 100 Elo wide needs about 100 games.",
        "If it falls, the page Stage says whether the gate has noticed; `understudy arena RUN_DIR` plays more games.",
    ),
    Metric(
        "champion_version",
        "Champion",
        "",
        "playing",
        "The version that proved itself last. It is what the gate goes back to.",
        "It changes when a version is shown to be better (strict) or not worse (guard).",
        "If it never changes, see the evidence with `understudy gate RUN_DIR`.",
    ),
    Metric(
        "stage_version",
        "Version on stage",
        "",
        "playing",
        "The version that bots load.",
        "In guard the newest version, in strict the champion.",
        "If it stays the champion in guard, the line was taken off: `understudy gate RUN_DIR` says why.",
    ),
    Metric(
        "candidate_points",
        "Candidate minus champion",
        "points per game",
        "playing",
        "The mean of the comparisons of the candidate with the champion; the label `games` says whether live or "
        "simulated ones.",
        "Around zero or above.",
        "Below zero for long, the gate takes the candidate off by itself.",
    ),
    Metric(
        "harm_evidence",
        "Evidence of harm",
        "",
        "playing",
        "The evidence, in live games, that the candidate is worse than the champion. It is taken off at a little over "
        "1 / `gate.error`.",
        "Below 1 most of the time.",
        "A value that grows says that the last updates did harm: look at rewards and learning rate.",
    ),
    Metric(
        "win_rate",
        "Win rate",
        "share of games",
        "playing",
        "The share of games won, a tie counting half, over the last 50 games or the last fiftieth of all, whichever is "
        "more (in Prometheus: over the last hundred). The band is the 95 % confidence interval (Wilson). Games that "
        "crashed or were cut count neither way.",
        "It rises against a fixed opponent. Against a curriculum that gets harder with success it stays near the "
        "level at which the curriculum steps up. A band that is 25 points wide is normal for 50 games.",
        "If it falls for longer than a band's width, look at entropy and KL; "
        "`understudy models RUN_DIR --rollback VERSION` goes back.",
    ),
    Metric(
        "mean_return",
        "Mean return",
        "reward a game",
        "playing",
        "The undiscounted sum of rewards of a game, mean over a batch (self-play: over the last hundred games).",
        "It rises, with noise from batch to batch.",
        "If it rises while the win rate does not, the rewards pay for something other than winning.",
    ),
    Metric(
        "strategy_mix",
        "Strategy mix",
        "share of decisions",
        "playing",
        "How often each action was chosen, as a share of all decisions of the games in question. Of many actions the "
        "twelve most frequent have a line of their own.",
        "Even at first, then uneven, and different by opponent.",
        "One action near 100 % early on means that the policy has stopped trying: raise training.entropy_coefficient "
        "or training.exploration.",
    ),
    Metric(
        "loss",
        "Loss",
        "",
        "learning",
        "Policy loss + weighted value loss - weighted entropy, the mean over the gradient steps of an update.",
        "Noisy around a slowly changing level. It need not fall: the policy loss of PPO has no fixed scale.",
        "If it grows from batch to batch, lower training.learning_rate. NaN never gets here: such an update is undone.",
    ),
    Metric(
        "policy_loss",
        "Policy loss",
        "",
        "learning",
        "What PPO (or REINFORCE) minimises: minus the advantage, weighted by how much more likely an action became.",
        "-0.8 to 0.4. Advantages are not centred: a batch of games won lies below 0, one of games lost above it.",
        "Large swings go with a large KL; see there.",
        range=(-0.8, 0.4),
    ),
    Metric(
        "value_loss",
        "Value error",
        "squared spreads",
        "learning",
        "Half the mean squared difference between the value head's estimate and what the games came to, both in units "
        "of the usual spread of the latter, so that it does not depend on the scale of the rewards.",
        "0 to 0.9; a constant would have about 0.5. It rises when the bot meets something new.",
        "If it stays high, see explained variance.",
        range=(0, 0.9),
    ),
    Metric(
        "explained_variance",
        "Explained variance",
        "share, at most 1",
        "learning",
        "How much of the differences between outcomes the value head foresaw before the update: 1 all, 0 none; below "
        "0 it was worse than a constant.",
        "-0.2 to 0.9, rising: a batch of one game, won or lost throughout, has little to explain.",
        "If it stays below 0 over batches of several games, the states do not tell what decides games: add features, "
        "or a larger network.",
        range=(-0.2, 0.9),
    ),
    Metric(
        "entropy",
        "Entropy",
        "nats",
        "learning",
        "How undecided the policy is: ln(number of actions) when all are equally likely, 0 when one is certain.",
        "It begins near ln(number of actions) and falls over hundreds of games, in that run from 0.69 to 0.46.",
        "If it drops to near 0 within few games, raise training.entropy_coefficient. If it does not fall at all, "
        "rewards do not tell actions apart.",
    ),
    Metric(
        "kl",
        "KL divergence",
        "nats",
        "learning",
        "How far the whole update moved the policy, measured when it was over. It is at most training.target_kl (0.02) "
        "for batches of 2,048 decisions or more, and less for smaller ones.",
        "0.0001 to 0.02, or to training.target_kl where that is another value; less with small batches.",
        "Near 0 for many updates: games teach nothing new, or the learning rate is small. With training.target_kl = 0 "
        "or REINFORCE it is not measured, and 0.",
        range=(0.0001, 0.02),
        up_to="training.target_kl",
    ),
    Metric(
        "clip_fraction",
        "Clip fraction",
        "share of decisions",
        "learning",
        "The share of decisions whose probability moved beyond training.clip (0.2), so that PPO left them alone.",
        "0 to 0.35; near the upper end with a high training.target_kl.",
        "Near 0: the learning rate is small, or the games teach nothing new. Above 0.5: it is too large.",
        range=(0, 0.35),
    ),
    Metric(
        "grad_norm",
        "Gradient norm",
        "",
        "learning",
        "The length of the gradient before it is cut to training.max_grad_norm (0.5).",
        "0.16 to 1.",
        "Sudden jumps go with unusual rewards; look at the latest games.",
        range=(0.16, 1),
    ),
    Metric(
        "learning_rate",
        "Learning rate",
        "",
        "learning",
        "Adam's learning rate in the update: training.learning_rate, times what is left of it by "
        "training.learning_rate_half_life, times a factor from 0.1 to 1 that adjusts itself. The factor falls when the "
        "KL limit ends updates after very few gradient steps, and rises when they do all their passes.",
        "Between a tenth of training.learning_rate (0.0003) and all of it; all of it throughout that run.",
        "At a tenth for long: even small steps move the policy far. Lower training.learning_rate.",
    ),
    Metric(
        "entropy_weight",
        "Weight of the entropy",
        "",
        "learning",
        "How much the entropy of the policy counted in what the update maximised.",
        "training.entropy_coefficient (0.01).",
        "It changes only with the settings.",
    ),
    Metric(
        "shortened",
        "Share of the update kept",
        "share",
        "learning",
        "An update that moved the policy beyond the KL limit is shortened: this share of the change of the weights was "
        "kept. 1: it was within the limit.",
        "0.91 to 1.",
        "Far below 1 again and again: steps are too large. Lower training.learning_rate.",
        range=(0.91, 1),
    ),
    Metric(
        "staleness",
        "Staleness",
        "versions",
        "learning",
        "How many versions older the model was that played the games of a batch, on average, than the one that "
        "learned from them.",
        "0 to 1 with one bot; more when many bots play at a time.",
        "If it keeps growing, the learner is slower than the bots: see games waiting.",
        range=(0, 1),
    ),
    Metric(
        "effective_sample_size",
        "Effective sample size",
        "share of the batch",
        "learning",
        "Which share of the batch is as good as fresh, given how far the policy has moved since the games were played.",
        "Above 0.99 with one bot that waits for the learner.",
        "Below 0.5 most of a game is wasted: let the bots take new models more often, or play in fewer processes.",
        range=(0.99, 1),
    ),
    Metric(
        "games_per_second",
        "Games learned",
        "games/s",
        "speed",
        "Games learned from, divided by the time between one version and the next.",
        "What the bots play.",
        "0 for minutes: the health light says why.",
    ),
    Metric(
        "samples_per_second",
        "Decisions learned",
        "decisions/s",
        "speed",
        "Decisions learned from, divided by the time between one version and the next.",
        "Games a second times the length of a game.",
        "See games learned.",
    ),
    Metric(
        "seconds",
        "Time of an update",
        "s",
        "speed",
        "What training on one batch took; reading, publishing and archiving are not in it.",
        "Milliseconds to seconds, in proportion to the decisions in the batch.",
        "If it grows with the same batches, something else needs the CPU.",
    ),
    Metric(
        "buffer_files",
        "Games waiting",
        "games",
        "queue",
        "Finished games in data/buffer.",
        "0 to about learner.batch_games (10); more beside bots that play fast.",
        "If it grows, the learner is stopped, paused or too slow: the health light says which.",
    ),
    Metric(
        "games_in_progress",
        "Games in progress",
        "games",
        "queue",
        "Journals in data/buffer/live: games that are being played, and those of bots that were killed until the "
        "learner salvages them.",
        "As many as bots play.",
        "If it stays high without bots, no learner runs to salvage them.",
    ),
    Metric(
        "archive_files",
        "Games archived",
        "games",
        "queue",
        "Games in data/archive: learned from, or skipped. Bounded by storage.archive_games.",
        "It grows to its bound and stays there.",
        "If it stays at 0 while games are played, nothing is learned.",
    ),
    Metric(
        "games_total",
        "Games dealt with",
        "games",
        "queue",
        "Games in the ledger by what became of them: learned, online (by the bot itself), skipped, rejected.",
        "Nearly all learned or online.",
        "Many skipped: the log and `understudy doctor` say why. Many rejected: read their reasons.",
        counter=True,
    ),
    Metric(
        "model_version",
        "Model version",
        "",
        "machine",
        "The number of the published model. Every update adds one; so do a rollback and a change of settings.",
        "It grows.",
        "If it does not while games wait, see the health light.",
    ),
    Metric(
        "model_age_seconds",
        "Age of the model",
        "s",
        "machine",
        "Time since the model file was replaced.",
        "About the length of a game.",
        "See model version.",
    ),
    Metric(
        "heartbeat_age_seconds",
        "Age of the heartbeat",
        "s",
        "machine",
        "Time since the learner last wrote status.json, which it does every second.",
        "Below 3 s.",
        "Above 15 s it died or hangs: start it again. Nothing is lost.",
    ),
    Metric(
        "learner_up",
        "Learner at work",
        "0 or 1",
        "machine",
        "1 while the learner's heart beats and it has not said that it stopped.",
        "1.",
        "`understudy learn RUN_DIR` starts one.",
    ),
    Metric(
        "health",
        "Health",
        "0 green or grey, 1 amber, 2 red",
        "machine",
        "The traffic light. Red: nothing is learned until somebody acts; amber: look at it soon.",
        "0.",
        "`understudy monitor RUN_DIR --once` says in words what is wrong and what to do.",
    ),
    Metric(
        "errors_total",
        "Errors",
        "",
        "machine",
        "What went wrong since the learner started, counted; the last one is shown in words.",
        "0.",
        "Read the last error and docs/unattended.md.",
        counter=True,
    ),
    Metric(
        "active_workers",
        "Active workers",
        "processes",
        "machine",
        "Worker processes that have a job, the learner's own training included; in self-play, those that play.",
        "0 while there is nothing to do; at most learner.max_workers.",
        "0 while jobs wait: the state says what it waits for.",
    ),
    Metric(
        "cpu_percent",
        "CPU used by others",
        "%",
        "machine",
        "What other programs use of the CPU, the learner and its workers not counted (needs psutil).",
        "Below resources.cpu_threshold (80).",
        "Above it the workers wait, so that the game has the machine.",
    ),
    Metric(
        "memory_percent",
        "Memory used",
        "%",
        "machine",
        "Used memory of the machine, or of the container (needs psutil).",
        "Below resources.memory_threshold (85).",
        "Above it the workers wait.",
    ),
    Metric(
        "gpu_memory_percent",
        "GPU memory used",
        "%",
        "machine",
        "Used memory of the fullest GPU (needs nvidia-ml-py).",
        "Below resources.gpu_memory_threshold (90).",
        "Above it the workers wait.",
    ),
    Metric(
        "disk_free_bytes",
        "Free disk space",
        "bytes",
        "machine",
        "Free space on the disk of the run directory.",
        "Above 500 MB.",
        "Make room, or lower storage.archive_games and storage.archive_bytes. Nothing is lost while the disk is full.",
    ),
    Metric(
        "decision_reward",
        "Reward",
        "reward",
        "game",
        "What the bot was given for each decision, and what that came to so far.",
        "Near 0 until the end brings the result, where the rewards pay for nothing else.",
        "If the sum rises in games that are lost, the rewards pay for something other than winning.",
    ),
    Metric(
        "action_probability",
        "Decisions",
        "share of the probability",
        "game",
        "How probable the policy made each action when it decided, exploration included.",
        "Nearly equal in the first games, later different from state to state.",
        "If one action has 100 % throughout, whatever the state, the policy has stopped trying: see entropy.",
    ),
    Metric(
        "state_value",
        "Value",
        "reward to come",
        "game",
        "What the value head expected of the rest of the game, later rewards counting less (training.gamma).",
        "It moves towards the result as the end comes nearer.",
        "If it stays flat, or ends far from the result in game after game, see explained variance.",
    ),
    Metric(
        "state_features",
        "States",
        "each feature on its own scale",
        "game",
        "The features that changed most in this game: the fuller the colour, the higher. On the right, their range.",
        "They change with what happens in the game.",
        "A feature that never changes, in any game, tells the policy nothing.",
    ),
)
