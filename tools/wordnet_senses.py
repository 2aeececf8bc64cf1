"""Build the table of WordNet sense counts that the package ships.

    python tools/wordnet_senses.py DICT polysema/evaluation/wordnet

DICT is the folder with WordNet 3.0's index.noun, index.verb, index.adj and index.adv (Debian: wordnet-base). Words
only: multi-word entries are left out, since no lexicon of words holds them.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path


def main() -> None:
    """Write ``senses.tsv.gz``: a word and its number of synsets as noun, verb, adjective, adverb."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="DICT")
    parser.add_argument("out", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    source, out = arguments.source, arguments.out
    counts: dict[str, list[int]] = {}
    licence: list[str] = []
    for column, part in enumerate(("noun", "verb", "adj", "adv")):
        for line in (source / f"index.{part}").read_text(encoding="ascii").splitlines():
            if line.startswith("  "):
                if part == "noun":
                    licence.append(line.strip().partition(" ")[2].rstrip())
                continue
            lemma, _, synsets = line.split()[:3]
            if "_" not in lemma:
                counts.setdefault(lemma, [0, 0, 0, 0])[column] = int(synsets)
    rows = "".join(f"{word}\t{n}\t{v}\t{a}\t{r}\n" for word, (n, v, a, r) in sorted(counts.items()))
    (out / "senses.tsv.gz").write_bytes(gzip.compress(rows.encode(), 9, mtime=0))
    (out / "LICENSE").write_text("\n".join(licence).strip() + "\n", encoding="utf-8")
    print(f"{len(counts)} words")


if __name__ == "__main__":
    main()
