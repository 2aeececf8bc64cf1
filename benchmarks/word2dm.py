"""Word2DM's weak start, in a figure: python benchmarks/word2dm.py CORPUS [--output FILE] [--epochs N].

Left: how hard a true context pulls at the target, ‖∂J/∂B_t‖, against how similar the two are, for random factors of the
size of the paper's start and larger, beside multi-sense Word2DM. Right: the held-out loss while training on CORPUS from
each start; 6 log 2 is what a model has that says nothing.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from measure import options

import polysema as ps

COLOURS = {"paper": "#D55E00", "uniform": "#E69F00", "unit": "#0072B2", "other": "#009E73"}
RUNS = {
    "paper's start, SGD": {"init": "paper", "optimiser": "sgd"},
    "unit start, SGD": {"init": "unit", "optimiser": "sgd", "rate": 0.005},
    "paper's start, Adam": {"init": "paper", "optimiser": "adam"},
    "unit start, Adam": {"init": "unit", "optimiser": "adam"},
}


def pulls(scale: float, columns: int = 17, count: int = 400, n: int = 17) -> tuple[list[float], list[float]]:
    """How similar random pairs are, from not at all to the same, and the gradient's norm by the factor's.

    With one column: a sense and a context of multi-sense Word2DM.
    """
    rng = np.random.default_rng(0)
    alike, pull = [], []
    for share in np.linspace(0, 1, count):
        target = scale * rng.standard_normal((n, columns))
        context = share * target + (1 - share) * scale * rng.standard_normal((n, columns))
        a, c = target @ target.T, context @ context.T
        score = float((target * context).sum() if columns == 1 else (a * c).sum())
        gradient = (context if columns == 1 else 2 * c @ target) / (1 + np.exp(score))
        alike.append(float((a * c).sum() / np.sqrt((a * a).sum() * (c * c).sum())))
        pull.append(float(np.linalg.norm(gradient) / np.linalg.norm(target)))
    return alike, pull


def main() -> None:
    """Compute, train, draw."""
    args = options(__doc__, "corpus", output="word2dm.png", epochs=4, min_count=20)
    corpus = ps.Corpus(args.corpus)
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    starts = (("paper", 0.5 / 289 / np.sqrt(3)), ("uniform", 0.5 / 17 / np.sqrt(3)), ("unit", 1 / 17))
    for name, scale in starts:
        left.semilogy(*pulls(scale), ".", ms=3, color=COLOURS[name], label=f"Word2DM, start {name}")
    left.semilogy(
        *pulls(1 / np.sqrt(5 * 17), columns=1),
        ".",
        ms=3,
        color=COLOURS["other"],
        label="multi-sense Word2DM, start unit",
    )
    left.set(
        xlabel="similarity of target and context",
        ylabel="‖∂J/∂B‖ / ‖B‖ of one true context",
        title="The pull of a true context",
    )
    left.legend(markerscale=4, fontsize=8, loc="center left", bbox_to_anchor=(0, 0.3))
    for name, chosen in RUNS.items():
        lexicon = ps.train(corpus, "word2dm", min_count=args.min_count, subsample=1e-4, epochs=args.epochs, **chosen)
        losses = [row["held_out_loss"] for row in lexicon.metadata["curve"]]
        print(name, [round(loss, 4) for loss in losses], file=sys.stderr, flush=True)
        colour = COLOURS["paper" if "paper" in name else "unit"]
        right.plot(range(1, len(losses) + 1), losses, "o-" if "Adam" in name else "s--", color=colour, label=name)
    right.axhline(6 * np.log(2), color="0.5", lw=1)
    right.text(1, 6 * np.log(2), "6 log 2", va="bottom", fontsize=8, color="0.3")
    right.set(xlabel="epoch", ylabel="held-out loss", title=f"Word2DM 17×17 on {len(corpus.tokens) / 1e6:.1f} M words")
    right.set_xticks(range(1, args.epochs + 1))
    right.legend(fontsize=8)
    figure.savefig(args.output, dpi=150)


if __name__ == "__main__":
    main()
