"""Time-partitioned entities, as far as they are pure: no database, no HTTP, no clock.

    ordinals    sets of instances as runs            zones      what a zone's clock shows, for arrays
    spans       a map of ordinals and its inverse    calendar   periods (civil: days and above; cron: ticks)
    keys        a period's text and back             instances  which periods an entity has
    dates       the language of `dates`              edges      what is needed, and what is affected
    kinds       what an entity's kind makes of it    durations  lengths of time

Built so far: periods, dependencies and their inverse, and what a wrong upstream instance means for each kind of entity. States, readiness, the
walk over all entities, and backfill plans come later.
"""
