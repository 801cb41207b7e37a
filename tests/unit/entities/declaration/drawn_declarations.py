"""Random declarations as their documents, and the same written in some of the many ways that people may write it."""

import random
from typing import Any

import yaml

Json = dict[str, Any]

EVERY = {"day": ["day", "days", "1d", "D"], "week": ["week", "1 weeks", "w"], "month": ["month", "Months"], "hour": ["hour", "1h"], "6h": ["6h", "6 hours"], "3d": ["3 days", "3d"]}  # fmt: skip
LENGTHS = {"6h": ["6h", "360 min", "6 hours"], "48h": ["48h", "2 days", "1d 24h"], "90m": ["90m", "1h 30m"]}
DATES = {"same": ["same", " SAME"], "all_week": ["all_week"], "last 30 days": ["last 30  days", "Last 30 days"], "previous": ["previous"], "last_available within 45 days": ["last_available within 45 days"], "-1w": ["-1w"], "month_to_date": ["month_to_date"]}  # fmt: skip
PERIODS = ["2024-01-01", "2024-W03", "2024-02-01..2024-02-03", "2024-05..", "..2023", "*"]
STATES = ["completed", "estimated", "partial"]


def document(chance: random.Random, name: str, others: list[str]) -> Json:
    """Everything that is said, each part here or not."""
    kind = chance.choice(["timeseries", "timeseries", "sliding", "snapshot", "static", "cumulative"])
    found: Json = {"entity": name, "kind": kind}
    match kind:
        case "sliding":
            found["window"] = chance.choice(["30 days", "2 months"])
        case "snapshot":
            found |= {"mode": chance.choice(["rebuild", "carry"]), "repair": chance.choice(["latest", "all"])}
        case "cumulative":
            found |= {"mode": chance.choice(["rebuild", "incremental"]), "process": {"every": "day", "tz": "UTC"}}
            found |= maybe(chance, corrections=chance.randrange(1, 9))
    if kind != "static":
        period = {"every": chance.choice(list(EVERY)), "tz": chance.choice(["UTC", "Europe/Paris", "Asia/Kolkata"])}
        if period["every"] in {"day", "week"}:
            period |= (
                maybe(chance, **{"from": "2024-01-07"}) if period["every"] == "day" else maybe(chance, starts="sunday")
            )
            period |= maybe(chance, offset="6h")
        found["period"] = period
    names = chance.sample(STATES, chance.randrange(1, 4))
    found["states"] = [state(chance, each, others) for each in names]
    found |= maybe(
        chance,
        description="What it is: a test, # no comment",
        owners=chance.sample(["ann", "bob", "no", "2024-01-01"], chance.randrange(1, 3)),
        tags={
            each: sorted(chance.sample(["x", "1", "on"], chance.randrange(3)))
            for each in chance.sample(["team", "null", "3"], 2)
        },
        tier=chance.choice(["1", "gold"]),
        produced_by=[{"job": f"airflow://{name}"}, {"job": "b", "every": "24h", "max_periods": 7, "pool": "p"}],
        stored_in=[{"namespace": "s3://lake", "name": f"{name} x"}],
        due=chance.choice(list(LENGTHS)),
        retention=chance.choice(["400d", "13mo", "1mo 2d"]),
        transparent=True,
        renamed_from=f"old_{name}",
    )
    if len(names) > 1:
        found |= maybe(chance, compatible=[sorted(names)[:2]])
    if kind != "static" and found["period"] == {"every": "day", "tz": "UTC"}:
        found |= maybe(chance, frozen=["..2023-01-01", "2023-02-01..2023-03-01"])
    return found


def state(chance: random.Random, name: str, others: list[str]) -> Json:
    needs = [
        {each: dependency(chance, others)}
        for each in sorted(chance.sample(others, min(len(others), chance.randrange(4))))
    ]
    if len(others) > 2 and chance.random() < 0.3:
        needs.append({"any_of": [{each: dependency(chance, others)} for each in sorted(chance.sample(others, 2))]})
    return {"state": name, "depends_on": needs} if needs else {"state": name}


def dependency(chance: random.Random, others: list[str]) -> Json:
    found = maybe(
        chance,
        dates=chance.choice(list(DATES)),
        states=sorted(chance.sample(STATES, 2)),
        accept_tainted=True,
        optional=True,
        min=chance.choice(["20", "95%", "-1", "33.3%", "0.0001%"]),
        columns=sorted(chance.sample(["a", "b", "yes"], 2)),
    )
    if "dates" in found:
        found |= maybe(chance, before_start="ignore")
        if found["dates"] in {"same", "all_week", "last 30 days", "-1w"}:
            found |= maybe(chance, strict="within")
        if "last_available" not in found["dates"]:
            found |= maybe(chance, custom=custom(chance))
    if chance.random() < 0.3:
        found["wait"] = chance.choice(list(LENGTHS))
        found |= maybe(chance, then=chance.choice(["accept", *others]))
    return found


def custom(chance: random.Random) -> Json:
    rows = [
        {key: sorted(chance.sample(PERIODS, chance.randrange(4))) for key in chance.sample(PERIODS, 3)} for _ in "ab"
    ]
    return chance.choice([{"needs": rows[0]}, {"affects": rows[0]}, dict(zip(["needs", "affects"], rows, strict=True))])


def maybe(chance: random.Random, **said: Any) -> Json:
    return {word: value for word, value in said.items() if chance.random() < 0.4}


def text(chance: random.Random, said: Json) -> str:
    """An equivalent document as a person may write it: other words, other order, short forms."""
    found: Json = {word: value for word, value in said.items() if word != "entity"}
    entity = {chance.choice(["entity", "name"]): said["entity"]}
    if found["kind"] == "timeseries" and chance.random() < 0.5:
        del found["kind"]
    if "period" in found:
        period = dict(found.pop("period"))
        period["every"] = chance.choice(EVERY[period["every"]])
        if period["tz"] == "UTC" and chance.random() < 0.5:
            del period["tz"]
        short = chance.random() < 0.5 and len(period) == 1
        found[chance.choice(["period", "granularity"])] = period["every"] if short else shuffled(chance, period)
    for word, spelt in (("due", LENGTHS), ("retention", {})):
        if word in found:
            found[word] = chance.choice(spelt.get(found[word], [found[word]]))
    if "owners" in found:
        found[chance.choice(["owner", "owners"])] = single(chance, found.pop("owners"))
    if "tags" in found:
        found["tags"] = {tag: single(chance, values) for tag, values in found["tags"].items()}
    if "stored_in" in found and chance.random() < 0.5:
        found["stored_in"] = [f"{each['namespace']} {each['name']}" for each in found["stored_in"]]
    if "produced_by" in found and chance.random() < 0.5:
        found["produced_by"][0] = found["produced_by"][0]["job"]
    found |= states(chance, found.pop("states"))
    return yaml.dump(
        entity | shuffled(chance, found),
        sort_keys=False,
        default_flow_style=chance.choice([True, False, None]),
        allow_unicode=True,
    )


def states(chance: random.Random, said: list[Json]) -> Json:
    needs = {each["state"]: depends_on(chance, each.get("depends_on")) for each in said}
    if list(needs) == ["completed"] and chance.random() < 0.7:
        return {"depends_on": needs["completed"]}
    if not any(needs.values()) and chance.random() < 0.5:
        return {"states": list(needs)}
    if chance.random() < 0.5:
        return {"states": {name: {"depends_on": below} if below else None for name, below in needs.items()}}
    return {"states": [{"entity_state": name, "depends_on": below} for name, below in needs.items()]}


def depends_on(chance: random.Random, said: list[Json] | None) -> object:
    if not said:
        return None
    found = [{name: spelt(chance, name, what)} for each in said for name, what in each.items()]
    chance.shuffle(found)
    if chance.random() < 0.5:
        return {name: what for each in found for name, what in each.items()}
    return [next(iter(each)) if list(each.values()) == [None] else each for each in found]


def spelt(chance: random.Random, name: str, what: Any) -> object:
    if name == "any_of":
        return [{name: spelt(chance, name, what) for name, what in each.items()} for each in what]
    found = dict(what)
    if not found:
        return chance.choice([None, {}, {"states": "completed"}])
    if "dates" in found:
        found["dates"] = chance.choice(DATES[found["dates"]])
        if len(found) == 1 and chance.random() < 0.5:
            return found["dates"]
    if "custom" in found:
        found["custom"] = {
            word: {
                chance.choice([key, f" {key}", key.replace("..", " .. ")]): single(chance, shuffled_list(chance, named))
                for key, named in shuffled(chance, rows).items()
            }
            for word, rows in shuffled(chance, found["custom"]).items()
        }
    if "wait" in found:
        found["wait"] = chance.choice(LENGTHS[found["wait"]])
    if chance.random() < 0.3:
        found.setdefault("optional", False)
    return shuffled(chance, found)


def single(chance: random.Random, some: list[str]) -> object:
    """A list of one may be written without the list."""
    return some[0] if len(some) == 1 and chance.random() < 0.5 else some


def shuffled_list(chance: random.Random, some: list[str]) -> list[str]:
    return chance.sample(some, len(some))


def shuffled(chance: random.Random, said: Json) -> Json:
    words = list(said)
    chance.shuffle(words)
    return {word: said[word] for word in words}
