"""Sets of ordinals closed under steps of a fixed lag: the instances that are wrong if each needs some of those shortly before it.

However long the chain, it is closed at once where it can be: a step of one, or of one to m, makes runs longer; a step of c leaves c classes that are
runs each, counted by c. No per-ordinal walk, and no recursion.
"""

import numpy as np

from headwater.entities.time.ordinals import NONE, Int, Ordinals


def onward(seeds: Ordinals, allowed: Ordinals, near: int, far: int) -> Ordinals | None:
    """The least set with all `seeds`, and with each k of `allowed` for which any of k - far … k - near is in it; 1 ≤ near ≤ far.

    What is neither is where a chain breaks, unless a step reaches over it. None if near is neither 1 nor far: no closed form is known here.
    O(r log r) where near is 1; otherwise for each class that a seed is in, and what is written.
    """
    if not seeds or not allowed:
        return seeds
    if near == 1:
        return _lengthened(seeds, allowed, far)
    return _classes(seeds, allowed, near) if near == far else None


def backward(seeds: Ordinals, allowed: Ordinals, near: int, far: int) -> Ordinals | None:
    """The same towards the past: k is in it where any of k + near … k + far is."""
    found = onward(_mirrored(seeds), _mirrored(allowed), near, far)
    return None if found is None else _mirrored(found)


def _mirrored(ordinals: Ordinals) -> Ordinals:
    return Ordinals.joined(1 - ordinals.ends, 1 - ordinals.starts)


def _lengthened(seeds: Ordinals, allowed: Ordinals, far: int) -> Ordinals:
    # Allowed runs that a step reaches across are one chain; a seed goes on to the end of the chain that it reaches.
    breaks = np.append(allowed.starts[1:] - allowed.ends[:-1] >= far, True)
    chain_ends = allowed.ends[breaks]
    chain = np.cumsum(breaks) - breaks
    run = np.searchsorted(allowed.ends, seeds.ends, "right")
    some = run < allowed.runs
    run = np.minimum(run, allowed.runs - 1)
    some &= np.maximum(seeds.ends, allowed.starts[run]) - seeds.ends < far
    ends = np.where(some, np.maximum(chain_ends[chain[run]], seeds.ends), seeds.ends)
    return (Ordinals.joined(seeds.starts, ends) & allowed) | seeds


def _classes(seeds: Ordinals, allowed: Ordinals, lag: int) -> Ordinals:
    # A run as long as the lag goes on like one of lag 1, until something is not allowed; after that its last ones go on in their classes.
    long = seeds.ends - seeds.starts >= lag
    if long.any():
        seeds |= _lengthened(Ordinals.joined(seeds.starts[long], seeds.ends[long]), allowed, 1)
    last = Ordinals.joined(np.maximum(seeds.starts, seeds.ends - lag), seeds.ends).members()
    # Nothing goes on from what has nothing allowed a step later.
    last = last[allowed.contains(last + lag)]
    found: list[Int] = []
    for residue in np.unique(last % lag).tolist():
        mine = Ordinals.of((last[last % lag == residue] - residue) // lag)
        starts, ends = (-((residue - bound) // lag) for bound in (allowed.starts, allowed.ends))
        found.append(_lengthened(mine, Ordinals.joined(starts, ends), 1).members() * lag + residue)
    return seeds | Ordinals.of(np.concatenate(found)) if found else seeds


def carried_from(seeds: Ordinals, exist: Ordinals, cuts: Ordinals = NONE) -> Ordinals:
    """The mirror of `kinds.carried`: everything that these were carried on from, back to the last cut, which is among it, and they themselves."""
    seeds &= exist
    if not seeds:
        return NONE
    starts = np.minimum(seeds.starts, exist.first)
    cuts &= exist
    if cuts:
        # The last cut that is no later than the first of a run; what of the run lies after it is in it anyway.
        run = np.searchsorted(cuts.starts, seeds.starts, "right") - 1
        last = np.minimum(cuts.ends[run] - 1, seeds.starts)
        starts = np.where(run >= 0, last, starts)
    return Ordinals.joined(starts, seeds.ends) & exist
