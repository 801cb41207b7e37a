"""Entities out of a text. The least that is an entity are two lines:

    entity: reads
    period: day

A text is one entity, several with `---` between them, or a list of them, which may be called `entities`.
"""

from collections.abc import Collection, Iterable
from typing import Literal

from headwater.entities.declaration import needs, periods
from headwater.entities.declaration.document import Part, Place, Problem, parts
from headwater.entities.declaration.entity import EntityDeclaration, Path, Producer, Stored
from headwater.entities.declaration.fields import Fields, describe_part
from headwater.entities.needs.graph import Entity
from headwater.entities.needs.kinds import Snapshot
from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import HeadwaterError, InvalidCalendar, InvalidEntities

WORDS = (
    "entity", "name", "description", "kind", "period", "granularity", *periods.OF_KIND, "states", "depends_on", "compatible", "produced_by",
    "stored_in", "owner", "owners", "tags", "tier", "due", "retention", "frozen", "transparent", "renamed_from",
)  # fmt: skip

# What other tools call the same.
_ELSEWHERE = {
    **dict.fromkeys(("schedule", "cadence", "frequency", "interval", "grain", "partitions"), "`period: day`"),
    **dict.fromkeys(("start", "starts", "start_date", "from"), "`period: {every: day, from: 2024-01-01}`"),
    **dict.fromkeys(("needs", "inputs", "upstream", "upstreams", "dependencies", "deps"), "`depends_on: [NAME]`"),
    **dict.fromkeys(("timezone", "tz"), "`period: {every: day, tz: Europe/Paris}`"),
    **dict.fromkeys(("sla", "deadline", "expected_by"), "`due: 6h`"),
    **dict.fromkeys(("team", "product"), "`tags: {team: NAME}`"),
    **dict.fromkeys(("job", "jobs", "task", "producer"), "`produced_by: airflow://HOST/DAG/TASK`"),
    **dict.fromkeys(("dataset", "table", "location", "path"), "`stored_in: NAMESPACE NAME`"),
}


def read(text: str | bytes, file: str) -> list[EntityDeclaration]:
    """The entities of one text, in its order; `file` is what messages call it. None of them is compared with another: that is `whole`.

    InvalidEntities with everything that is wrong: `problems`, texts that begin with `file:line:column: `, and `places`, the same in parts.
    """
    problems: list[Problem] = []
    found = entities(text, file, problems)
    if problems:
        raise refused(problems)
    return found


def refused(problems: Iterable[Problem]) -> InvalidEntities:
    """The error that says these, by file and line."""
    found = sorted(set(problems), key=lambda each: each[:3])
    some = "\n".join(f"- {problem}" for problem in found)
    return InvalidEntities(
        f"the declaration is wrong in {len(found)} place{'s' * (len(found) > 1)}:\n{some}",
        problems=[str(problem) for problem in found],
        places=[problem._asdict() for problem in found],
    )


def entities(text: str | bytes, file: str, problems: list[Problem]) -> list[EntityDeclaration]:
    """Read as `read` does, adding problems to a list. Entities that are wrong are in the result, as far as they could be read."""
    found: list[EntityDeclaration] = []
    for document in parts(text, file, problems):
        inside = document.value
        if isinstance(inside, dict) and "entities" in inside:
            for word in inside:
                if word != "entities":
                    problems.append(
                        Problem(
                            *document.keys[word], f"{word!r} beside entities belongs to none of them; put it into one"
                        )
                    )
            listed = inside["entities"].value
            inside = listed if isinstance(listed, list) else [] if listed is None else [inside["entities"]]
        for part in inside if isinstance(inside, list) else [document]:
            one = entity(part, problems)
            if one is not None:
                found.append(one)
    return found


def entity(part: Part, problems: list[Problem]) -> EntityDeclaration | None:
    """Read one entity; None if it has no name to report it by."""
    fields = Fields(problems)
    if not isinstance(part.value, dict):
        fields.note(part.place, f"{describe_part(part)} is no entity; write `entity: NAME` and `period: day`")
        return None
    fields.who = "an entity"
    named = part.value.get("entity") or part.value.get("name")
    name = fields.text(named, "its name")
    if not name:
        if named is None or named.value is None:
            fields.note(part.place, "it has no name; write `entity: NAME`")
        return None
    fields.who = f"entity {name!r}" if len(name) <= 200 else f"entity {describe_part(Part(name))}"
    if not needs.NAME.fullmatch(name):
        fields.note(
            named.place if named else part.place,
            "this is no name: letters, digits and _ . : @ $ + - are, up to 200, the first a letter, digit or _",
        )
    said = fields.mapping(part, "it", WORDS, _ELSEWHERE)
    for one, other in (("entity", "name"), ("owner", "owners")):
        if one in said and other in said:
            fields.note(said[other].place, f"{other} is another word for {one}; leave one out")
    kind, instances = periods.cut(fields, said, part.place)
    states = needs.states(fields, said, part.place, kind)
    places: dict[Path, Place] = {(): part.place, **{(word,): part.keys[word] for word in said if word in part.keys}}
    for state in states:
        places["states", state.name] = state.place
        for n, each in enumerate(state.needs):
            places["states", state.name, n] = each.place
            places.update({("states", state.name, n, *row): place for row, place in each.rows.items()})
    declared = {state.name: tuple(each.dependency for each in state.needs) for state in states}
    return EntityDeclaration(
        Entity(name, kind, instances, declared),
        fields.text(said.get("description"), "description"),
        fields.texts(said.get("owner") or said.get("owners"), "owner"),
        _tags(fields, said.get("tags")),
        fields.text(said.get("tier"), "tier"),
        tuple(_producers(fields, said.get("produced_by"))),
        tuple(_stored(fields, said.get("stored_in"))),
        _compatible(fields, said.get("compatible"), declared),
        fields.seconds(said.get("due"), "due"),
        fields.length(said.get("retention"), "retention"),
        _frozen(fields, said.get("frozen"), instances),
        _repair(fields, said.get("repair"), kind, instances),
        fields.flag(said.get("transparent"), "transparent"),
        fields.text(said.get("renamed_from"), "renamed_from"),
        places,
    )


def _tags(fields: Fields, part: Part | None) -> dict[str, tuple[str, ...]]:
    """Read `{team: data-eng}`, `{team: [a, b]}`, or a list of names that stand for themselves."""
    if part is None:
        return {}
    if not isinstance(part.value, dict):
        return dict.fromkeys(fields.texts(part, "tags"), ())
    found = {}
    for name, each in part.value.items():
        if not fields.text(Part(name, part.keys.get(name, part.place)), "the name of a tag"):
            continue
        found[name.strip()] = tuple(sorted(fields.texts(each, f"tag {name!r}")))
    return found


def _producers(fields: Fields, part: Part | None) -> Iterable[Producer]:
    for each in fields.items(part):
        if not isinstance(each.value, dict):
            job = fields.text(each, "produced_by")
            if job:
                yield Producer(job)
            elif each.value is None:
                fields.note(each.place, "produced_by has an item with nothing in it")
            continue
        said = fields.mapping(each, "produced_by", ("job", "every", "max_periods", "pool"))
        job = fields.text(said.get("job"), "produced_by, job")
        if not job:
            fields.note(each.place, "produced_by names no job: {job: airflow://prod/reads_weekly/compute}")
            continue
        every = fields.text(said.get("every"), "produced_by, every")
        if every:
            try:
                every = Calendar.every(every).every_text
            except InvalidCalendar as wrong:
                fields.note(said["every"].place, f"produced_by: {wrong.message}")
        yield Producer(
            job,
            every,
            fields.number(said.get("max_periods"), "produced_by, max_periods"),
            fields.text(said.get("pool"), "produced_by, pool"),
        )


def _stored(fields: Fields, part: Part | None) -> Iterable[Stored]:
    """Read `NAMESPACE NAME`: the first space separates them, since no namespace contains one."""
    for each in fields.items(part):
        if isinstance(each.value, dict):
            said = fields.mapping(each, "stored_in", ("namespace", "name"))
            namespace, name = (fields.text(said.get(word), f"stored_in, {word}") for word in ("namespace", "name"))
        else:
            namespace, _, name = fields.text(each, "stored_in").partition(" ")
        if namespace and name.strip():
            yield Stored(namespace, name.strip())
        else:
            fields.note(
                each.place,
                f"stored_in is {describe_part(each)}; write NAMESPACE NAME with a space between, such as `bigquery acme.marts.reads`",
            )


def _compatible(fields: Fields, part: Part | None, states: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of two or more states. A list of states is one group, a list of lists several."""
    if part is None:
        return ()
    several = isinstance(part.value, list) and any(isinstance(each.value, list) for each in part.value)
    found = set()
    for each in fields.items(part) if several else [part]:
        group = fields.texts(each, "compatible")
        for name in group:
            if name not in states:
                fields.note(each.place, f"compatible names {name!r}, which is none of its states: {', '.join(states)}")
        if len(group) < 2:
            fields.note(each.place, "compatible needs two or more states: [[completed, partial]]")
        found.add(tuple(sorted(group)))
    return tuple(sorted(found))


def _frozen(fields: Fields, part: Part | None, instances: Instances | None) -> Ordinals:
    """Read `..2023-01-01`, `2020-01-01..2021-01-01`, one or several: dates or periods, the second excluded, either left out."""
    found = NONE
    for each in fields.items(part):
        text = fields.text(each, "frozen")
        if instances is None:
            fields.note(each.place, "frozen is about periods, and it has none")
            continue
        first, dots, end = (word.strip() for word in text.partition(".."))
        if not dots or not (first or end):
            fields.note(
                each.place, f"frozen is {describe_part(each)}; write such as ..2023-01-01, the date itself excluded"
            )
            continue
        calendar = instances.calendar
        try:
            low = _begins(calendar, first) if first else int(calendar.begins([calendar.first])[0])
            high = _begins(calendar, end) if end else int(calendar.begins([calendar.end])[0])
        except HeadwaterError as wrong:
            fields.note(each.place, f"frozen: {wrong.message}")
            continue
        some = calendar.within(low, high) if low < high else NONE
        if not some:
            fields.note(each.place, f"frozen {text!r} holds no whole period")
        found |= some
    return found


def _begins(calendar: Calendar, text: str) -> int:
    """Return the instant at which a date or a period begins."""
    days = Calendar.every("day", calendar.spec.zone)
    try:
        return calendar.midnight(days.interval(keys.ordinal(days, text))[0].date())
    except HeadwaterError:
        return int(calendar.begins([keys.ordinal(calendar, text)])[0])


def _repair(
    fields: Fields, part: Part | None, kind: object, instances: Instances | None
) -> Literal["latest", "all"] | int:
    if part is None or not isinstance(kind, Snapshot):
        return "latest"
    text = fields.text(part, "repair")
    if text == "all":
        return "all"
    word, _, key = text.partition(" ")
    if word == "since" and instances is not None:
        try:
            return keys.ordinal(instances.calendar, key.strip())
        except HeadwaterError as wrong:
            fields.note(part.place, f"repair: {wrong.message}")
    elif text != "latest":
        fields.note(part.place, f"repair is {describe_part(part)}; write latest, all, or since and a period")
    return "latest"
