"""The learner's reports, in the layout users know: the facts of a batch, the status report, the statistics table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.experience import outliers
from understudy.games.spec import all_work
from understudy.run.log import clock

_WIDTH = 70


def batch_facts(games: int, stats: Mapping[str, Any], totals: Mapping[str, Any]) -> dict[str, str]:
    """The facts of one batch for the log."""
    unusual = outliers.summary(stats.get("outliers", []))
    return {
        "Batch Size": f"{games} games",
        "Total Steps": str(stats["total_steps"]),
        "Loss": f"{stats['loss']:.4f}",
        "Processing Time": f"{stats['seconds']:.2f}s",
        "Total Processed": f"{totals['files_processed']} files",
        "Total Batches": str(totals["batches_trained"]),
        "Model Version": str(totals["model_version"]),
        "Entropy": f"{stats['entropy']:.4f}",
        "Sample Size": f"{stats['effective_sample_size']:.0%} effective, {stats['staleness']:.1f} versions behind",
        **({"Out of Range": unusual} if unusual else {}),
    }


def status_report(stats: Mapping[str, Any]) -> str:
    """The report that the learner prints every 30 seconds."""
    sections = {
        "Training Statistics": {
            "Files Processed": stats["files_processed"],
            "Batch Training Runs": stats["batches_trained"],
            "Total Samples": stats["total_samples"],
            "Average Loss": number(stats["avg_loss"]),
            "Last Loss": number(stats["last_loss"]),
            "Model Version": stats["model_version"],
            "Staleness": number(stats["staleness"], "{:.1f} versions"),
            "Effective Samples": number(stats["effective_sample_size"], "{:.0%}"),
        },
        "Directory Status": {
            "Buffer Files": stats["buffer_files"],
            "Archived Files": stats["archive_files"],
            "Rejected Files": stats["files_rejected"],
            "Skipped": f"{stats['files_skipped_old']}{skipped(stats['skipped'])}",
        },
        "System Status": {
            "Active Workers": f"{stats['active_workers']}/{stats['max_workers']}",
            "Total Process Time": f"{stats['total_processing_time']:.2f}s",
            "Errors": stats["errors"]
            if not stats["last_error"]
            else f"{stats['errors']} (last: {stats['last_error']})",
            "Last Training": "never" if stats["last_training_time"] is None else clock(stats["last_training_time"]),
            "State": stats["state"],
            "Workers": workers(stats["workers"]),
            "Jobs": jobs(stats["jobs"]),
            "Load": load(stats["resources"]),
        },
        **_work(stats),
    }
    if stats["evaluation"] is not None:
        sections["Evaluation"] = {"Is It Better": evaluation(stats["evaluation"])}
    lines = [_rule(), "[BACKGROUND LEARNER] STATUS REPORT", _rule()]
    for title, facts in sections.items():
        lines += [f"{title}:", *(f"  {name + ':':<21} {value}" for name, value in facts.items()), ""]
    return "\n".join([*lines[:-1], _rule()])


def _work(stats: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A section for each kind of a game's background work."""
    return {
        work.title: {
            **{shown: stats[figure] for figure, shown in work.figures.values()},
            work.waiting: stats["jobs"].get("analyse waiting", 0),
        }
        for work in all_work().values()
    }


def statistics_table(stats: Mapping[str, Any]) -> str:
    """The statistics that a runner prints every few games."""
    facts = {
        **{shown: stats[figure] for work in all_work().values() for figure, shown in work.figures.values()},
        "Models Trained": stats["models_trained"],
        "Experience Files Processed": stats["files_processed"],
        "Batch Training Runs": stats["batches_trained"],
        "Total Training Samples": stats["total_samples"],
        "Average Loss": number(stats["avg_loss"]),
        "Total Processing Time": f"{stats['total_processing_time']:.2f}s",
        "Active Workers": f"{stats['active_workers']}/{stats['max_workers']}",
        "Errors": stats["errors"],
        "State": stats["state"],
        "Workers": workers(stats["workers"]),
        "Jobs": jobs(stats["jobs"]),
        "Load": load(stats["resources"]),
    }
    if stats["evaluation"] is not None:
        facts["Evaluation"] = evaluation(stats["evaluation"])
    lines = [f"{name}: {value}" for name, value in facts.items()]
    return "\n".join([_rule(), "[BACKGROUND LEARNING] STATISTICS", _rule(), *lines, _rule()])


def number(value: float | None, form: str = "{:.4f}") -> str:
    """A number, or a dash if there is none yet."""
    return "-" if value is None else form.format(value)


def load(readings: Mapping[str, float | None]) -> str:
    """How busy other programs keep the machine, as far as it was measured."""
    names = {"cpu": "CPU", "memory": "memory", "gpu_memory": "GPU memory"}
    known = [f"{names[name]} {value:.0f} %" for name, value in readings.items() if value is not None]
    return ", ".join(known) or "-"


def jobs(counts: Mapping[str, int]) -> str:
    """Jobs by kind and state, without zeros: "train 12 done; analyse 3 waiting, 1 running"."""
    kinds: dict[str, list[str]] = {}
    for name, count in counts.items():
        kind, _, state = name.partition(" ")
        if count:
            kinds.setdefault(kind, []).append(f"{count} {state}")
    return "; ".join(f"{kind} {', '.join(states)}" for kind, states in kinds.items()) or "-"


def workers(states: Sequence[str]) -> str:
    """What each worker is doing."""
    return "; ".join(states) or "-"


def evaluation(facts: Mapping[str, Any]) -> str:
    """How good the model is, and whether it is better than the one evaluated before it."""
    alone = (
        f"version {facts['version']} won {facts['win_rate']:.0%} of {facts['games']} games"
        f" ({facts['low']:.0%} to {facts['high']:.0%})"
    )
    if facts["against"] is None:
        return alone
    return (
        f"{alone}; against version {facts['against']} {100 * facts['difference']:+.0f} points"
        f" ({100 * facts['difference_low']:+.0f} to {100 * facts['difference_high']:+.0f}): {facts['verdict']}"
    )


def skipped(games: Mapping[str, int]) -> str:
    """Games archived without learning, by reason."""
    return f" ({', '.join(f'{count} {reason}' for reason, count in games.items())})" if games else ""


def _rule() -> str:
    return "=" * _WIDTH
