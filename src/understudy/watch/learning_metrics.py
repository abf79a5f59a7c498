"""The core's metrics of playing and learning."""

from __future__ import annotations

from understudy.watch.metric import Metric

LEARNING_METRICS: tuple[Metric, ...] = (
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
        "The last version that proved itself. The gate returns to it if a later one does harm.",
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
        "A growing value means that the latest updates did harm: check rewards and learning rate.",
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
        "reward per game",
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
        "squared standard deviations",
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
        "training.learning_rate_half_life, times a factor from 0.03 to 1 that adjusts itself. The factor falls slowly, "
        "and fast when the KL limit ends updates after very few gradient steps; it rises while successive updates "
        "agree or games go worse than expected. Where advantages are below 5 % of their largest size, the rate is "
        "smaller still.",
        "Between 3 % of training.learning_rate (0.0006) and all of it; much less once a game is solved.",
        "At 3 % from the beginning: even small steps move the policy far. Lower training.learning_rate.",
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
)
