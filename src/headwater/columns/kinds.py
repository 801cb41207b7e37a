"""The kinds of dependency between columns, as bits of one integer, and the effect of a step of an expression on them.

The bits are OpenLineage's transformation subtypes. A direct kind grows along a path (IDENTITY < TRANSFORMATION < AGGREGATION); an indirect kind
stays what it is unless the whole value is used to decide about rows. Masking once is masking for good, so every kind has a masked twin.
UNSEEN is added to the direct kind of what a program is given whose inside is not seen (`TRANSFORM … USING`).
The rules are those of `headwater.capture.spark.dependencies`: what SQL says and what Spark did must give the same edges.
"""

from headwater.model.lineage import UNSEEN_INSIDE, Transformation

IDENTITY, TRANSFORMATION, AGGREGATION = 1, 2, 4
JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL = 8, 16, 32, 64, 128, 256
UNSEEN = 512
DIRECT = IDENTITY | TRANSFORMATION | AGGREGATION
_SHIFT = 10
_ALL = (1 << _SHIFT) - 1
MASKED = _SHIFT
"""Kind `k` masked is `k << MASKED`."""
_NAMES = (
    (IDENTITY, "IDENTITY"),
    (TRANSFORMATION, "TRANSFORMATION"),
    (AGGREGATION, "AGGREGATION"),
    (CONDITIONAL, "CONDITIONAL"),
    (FILTER, "FILTER"),
    (GROUP_BY, "GROUP_BY"),
    (JOIN, "JOIN"),
    (SORT, "SORT"),
    (WINDOW, "WINDOW"),
)
_NAME = dict(_NAMES)

# The uses of a value by an expression: one step from the value up to the expression.
AS_IS, TRANSFORMED, AGGREGATED, BRANCHED = 0, 1, 2, 3
# Uses that decide about rows, named by the bit they leave, follow.
Use = int
"""AS_IS, TRANSFORMED, AGGREGATED, BRANCHED (a CASE's condition: direct kinds become CONDITIONAL, indirect ones stay), UNSEEN (by code whose inside
is not seen), or a bit from JOIN on (everything becomes that bit)."""
MASKING_USE = 1024
"""Added to a use: the value comes out masked."""


def _step(bits: int, use: Use) -> int:
    if use == AS_IS:
        return bits
    indirect, unseen = bits & ~(DIRECT | UNSEEN), bits & UNSEEN
    if use in {TRANSFORMED, UNSEEN}:
        unseen |= UNSEEN if use == UNSEEN and bits & DIRECT else 0
        return indirect | unseen | (bits & AGGREGATION) | (TRANSFORMATION if bits & (IDENTITY | TRANSFORMATION) else 0)
    if use == AGGREGATED:
        return indirect | unseen | (AGGREGATION if bits & DIRECT else 0)
    if use == BRANCHED:
        return indirect | (CONDITIONAL if bits & DIRECT else 0)
    return use if bits else 0


STEPS: dict[Use, tuple[int, ...]] = {
    use: tuple(_step(bits, use) for bits in range(_ALL + 1))
    for use in (AS_IS, TRANSFORMED, AGGREGATED, BRANCHED, JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL, UNSEEN)
}
"""`STEPS[use][bits]` for unmasked bits."""


def step(bits: int, use: Use) -> int:
    """The bits after `use`, masked twins included."""
    plain = STEPS[use & ~MASKING_USE]
    open_bits, masked = plain[bits & _ALL], plain[bits >> _SHIFT]
    return (masked | open_bits) << _SHIFT if use & MASKING_USE else open_bits | masked << _SHIFT


def transformations(bits: int) -> tuple[Transformation, ...]:
    """Return the kinds worth reporting: the strongest direct one (masked if any path of that strength is), then each indirect one, in a
    stable order."""
    found: list[Transformation] = []
    for kind in (AGGREGATION, TRANSFORMATION, IDENTITY):
        if bits & (kind | kind << _SHIFT):
            unseen = UNSEEN_INSIDE if bits & (UNSEEN | UNSEEN << _SHIFT) else None
            found.append(Transformation("DIRECT", _NAME[kind], bool(bits & kind << _SHIFT), unseen))
            break
    for kind, name in _NAMES[3:]:
        if bits & kind:
            found.append(Transformation("INDIRECT", name, False, None))
        if bits & kind << _SHIFT:
            found.append(Transformation("INDIRECT", name, True, None))
    return tuple(found)
