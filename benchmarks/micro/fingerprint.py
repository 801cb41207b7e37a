"""Statements a second that get a fingerprint, a key or a readable shape, on one core.

    python benchmarks/micro/fingerprint.py [--dialect postgres] [--runs 30]

The texts are those of TPC-DS that `scripts/corpus` sets up. Figures are CPU time, the best of all runs. The tokenizer of
sqlglot is the measure: what a fingerprint costs that is made from its tokens without folding anything.
"""

import argparse
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokens import TokenType

from headwater.columns.shape.fingerprint import fingerprint, normalised
from headwater.columns.shape.key import cache_key

LITERALS = {TokenType.STRING, TokenType.NUMBER}


CORPUS = Path(__file__).parents[2] / ".tools/corpus/tpc-ds"


def texts() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.sql"))]


def by_tokens(text: str, dialect: str) -> str:
    tokens = Dialect.get_or_raise(dialect).tokenize(text)
    shape = " ".join("?" if token.token_type in LITERALS else token.text.lower() for token in tokens)
    return blake2b(shape.encode(), digest_size=8).hexdigest()


def best(call: Callable[[str, str], object], statements: list[str], dialect: str, runs: int) -> float:
    """Seconds of CPU for all statements."""
    figures = []
    for _ in range(runs):
        began = time.process_time()
        for statement in statements:
            call(statement, dialect)
        figures.append(time.process_time() - began)
    return min(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dialect", default="")
    parser.add_argument("--runs", type=int, default=30)
    asked = parser.parse_args()
    statements = texts()
    size = sum(map(len, statements))
    print(f"{len(statements)} statements, {size / 1e3:.0f} KB, dialect {asked.dialect or 'of sqlglot'}")
    measure = best(by_tokens, statements, asked.dialect, asked.runs)
    for name, call in (("fingerprint", fingerprint), ("cache_key", cache_key), ("normalised", normalised)):
        took = best(call, statements, asked.dialect, asked.runs)
        print(
            f"{name}: {len(statements) / took:,.0f} statements/s, {size / took / 1e6:.1f} MB/s, {measure / took:.1f} times sqlglot's tokens"
        )
    print(f"sqlglot's tokens, hashed: {len(statements) / measure:,.0f} statements/s, {size / measure / 1e6:.1f} MB/s")


if __name__ == "__main__":
    main()
