"""Time-partitioned entities, as far as they are pure: no database, no HTTP, no clock.

    ordinals    sets of instances as runs            zones      what a zone's clock shows, for arrays
    spans       a map of ordinals and its inverse    calendar   periods (civil: days and above; cron: ticks)
    keys        a period's text and back             instances  which periods an entity has
    dates       the language of `dates`              edges      what is needed, and what is affected
    kinds       what an entity's kind makes of it    durations  lengths of time
    graph       entities and their links, checked    lags       how far back a link reaches
    taint       what is wrong, what may be behind it walk       the walk of both, and what it is told
    chains      chains of one entity, closed at once cycles     components, and cycles without lag

Built so far: periods, dependencies and their inverse, what a wrong upstream instance means for each kind of entity, and for all entities of a graph.
States, readiness and backfill plans come later.
"""
