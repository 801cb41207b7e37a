"""Time-partitioned entities, as far as they are pure: no database, no HTTP, no clock.

ordinals    sets of instances as runs            zones       what a zone's clock shows, for arrays
spans       a map of ordinals and its inverse    calendar    periods (civil: days and above; cron: ticks)
keys        a period's text and back             ranges      sets of instances as they are written
dates       the language of `dates`              instances   which periods an entity has
kinds       what an entity's kind makes of it    durations   lengths of time
edges       what is needed, what is affected     lags        how far back a link reaches
graph       entities and their links, checked    cycles      components, and cycles without lag
declaration entities as people declare them      recorded    what versions had read, as a walk follows it
taint       what is wrong, what may be behind it walk        the walk of both, and what it is told
chains      chains of one entity, closed at once marks       what is known of instances
status      what a report changes of it          incidents   what a verdict on versions changes of it
readiness   whether an instance may be made      missing     why an instance may not be read
plan        what to make again, with             plan_runs, plan_blocks, plan_order, plan_schedule, plan_kept
impact      what one run means for others
"""
