"""Rules as people write them: what they mean, and each mistake with file, line, column and what to write instead."""

import datetime as dt

import pytest

from headwater.entities.alerts.deciding import Contacts, active_rules, resolve_addresses
from headwater.entities.alerts.rules import RuleFile, RuleSet, read_rules
from headwater.entities.alerts.selectors import Traits, selects
from headwater.entities.alerts.times import Deadline
from headwater.errors import InvalidRules


def one(text: str) -> RuleSet:
    return read_rules([RuleFile("a.yaml", text)])


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidRules) as error:
        one(text)
    found = error.value.detail["problems"]
    assert isinstance(found, list)
    return found


def test_a_rule_has_what_was_written() -> None:
    (rule,) = one(
        "rules:\n  - {name: a, when: [failed check, Late], of: [tag:pii, +mart.orders], except: 'namespace:dev*', to: [Owner, channel:x],"
        " every: 2h, within: 1h, escalate: {after: 30m, to: b@x.org}, severity: error}"
    ).rules
    assert rule.when == ("failed_check", "late")
    assert [str(each) for each in (*rule.of, *rule.but)] == ["tag:pii", "+mart.orders", "namespace:dev*"]
    assert rule.to == ("owner", "channel:x")
    assert (rule.every, rule.within, rule.settle, rule.severity) == (7200, 3600, 60, "error")
    assert [(each.after, each.to) for each in rule.escalate] == [(1800, ("b@x.org",))]


def test_an_sla_has_what_was_written_and_a_rule_takes_its_deadline() -> None:
    told = one(
        "rules:\n  - {name: a, when: late, to: o@p.q, sla: s, except: 'namespace:dev*'}\n"
        "slas:\n  - {name: s, of: [product:funnel, 'tag:tier:gold'], except: mart.tmp, by: '07:00 mon-fri', goal: 99.5%}"
    )
    (rule,), (sla,) = told.rules, told.slas
    assert [str(each) for each in (*sla.of, *sla.but)] == ["product:funnel", "tag:tier:gold", "mart.tmp"]
    assert (sla.by, sla.goal) == (Deadline(420, "UTC", (1, 2, 3, 4, 5)), 0.995)
    assert (rule.sla, rule.of, rule.by) == ("s", sla.of, sla.by)
    assert [str(each) for each in rule.but] == ["namespace:dev*", "mart.tmp"]


def test_a_product_is_selected_by_its_tag() -> None:
    (sla,) = one("slas:\n  - {name: s, of: 'product:Funnel', within: 2h}").slas
    assert selects(sla.of, Traits("dataset:a", tags=("product:funnel",)))
    assert not selects(sla.of, Traits("dataset:a", tags=("product:funnels", "funnel", "team:funnel")))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules:\n  - name: a\n    when: fail\n    to: x@y.z", "a.yaml:3:11: rule 'a': when has no 'fail'; write one of failed, late,"),
        ("rules:\n  - name: a\n    to: x@y.z", "a.yaml:2:5: rule 'a': watches nothing; write `when:` with one of failed,"),
        ("rules:\n  - {name: a, when: [], to: x@y.z}", "a.yaml:2:5: rule 'a': watches nothing; write `when:` with one of failed,"),
        ("rules:\n  - {name: a, when: [~], to: x@y.z}", "a.yaml:2:22: rule 'a': when has an item with nothing in it; write one of failed,"),
        ("rules:\n  - {name: a, when: late, to: x@y.z, of: [~]}", "a.yaml:2:43: rule 'a': of has an item with nothing in it; remove it,"),
        ("rules:\n  - {name: a, when: late, to: x@y.z, except: []}", "a.yaml:2:46: rule 'a': except selects nothing; leave it out,"),
        ("rules:\n  - name: a\n    when: failed", "a.yaml:2:5: rule 'a': tells no one; write `to:` with owner, downstream owners,"),
        ("rules:\n  - name: a\n    wen: failed\n    to: x@y.z", "a.yaml:3:5: a rule has no 'wen'; did you mean 'when'?"),
        ("rules:\n  - name: a\n    notify: x@y.z\n    when: late", "a.yaml:3:5: a rule has no 'notify'; write to"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, by: 7 o'clock}", "a.yaml:2:42: rule 'a': by is \"7 o'clock\"; write such as 07:00,"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, by: '07:00 Mars/Base'}", "a.yaml:2:42: rule 'a': there is no time zone 'Mars/Base';"),
        ("rules:\n  - {name: a, when: gone, to: o@p.q, by: '07:00'}", "a.yaml:2:42: rule 'a': by is about `when: late`; leave it out, or"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, quiet: mon-sun}", "a.yaml:2:45: rule 'a': quiet is 'mon-sun'; write such as 22:00-07:00"),
        ("rules:\n  - {name: a, when: gone, to: o@p.q, factor: 0.5}", "a.yaml:2:46: rule 'a': factor is '0.5'; write a number over 1, such as"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, of: 'tag:'}", "a.yaml:2:42: rule 'a': of has 'tag:' with nothing after the colon;"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, escalate: {to: b@x.y}}", "a.yaml:2:48: rule 'a': escalate has no after; write such as"),
        ("rules:\n  - {name: a, when: late, to: o@p.q}\n  - {name: a, when: gone, to: o@p.q}", "a.yaml:3:1: rule 'a' is also in a.yaml:2;"),
        ("people:\n  ana: ana", "a.yaml:2:8: people: 'ana' has the address 'ana'; write a mail address or channel:NAME"),
        ("people: {}", "a.yaml:1:1: no rule is in it; begin with `rules:` or `slas:` and a list"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, of: 'view:mine'}", "a.yaml:2:42: rule 'a': of has 'view:mine', and views are of one person;"),
        ("sla:\n  - {name: s, of: a, by: '07:00'}", "a.yaml:1:1: the file has no 'sla'; write slas"),
        ("slas:\n  - {of: a, by: '07:00'}", "a.yaml:2:5: an SLA has no name; give it one, by which reports list it"),
        ("slas:\n  - {name: s, by: '07:00'}", "a.yaml:2:5: SLA 's': covers nothing; write `of:` with such as tag:tier:gold, product:funnel or a dataset"),
        ("slas:\n  - {name: s, of: a}", "a.yaml:2:5: SLA 's': write either `by: 07:00 Europe/Berlin` or `within: 2h`"),
        ("slas:\n  - {name: s, of: a, by: '07:00', within: 2h}", "a.yaml:2:5: SLA 's': write either `by: 07:00 Europe/Berlin` or `within: 2h`"),
        ("slas:\n  - {name: s, of: a, within: 2h, goal: 100.1%}", "a.yaml:2:40: SLA 's': goal is '100.1%'; write a share of what is due, such as 99.5%"),
        ("slas:\n  - {name: s, of: 'product:', within: 2h}", "a.yaml:2:19: SLA 's': of has 'product:' with nothing after the colon; write such as product:NAME"),
        ("slas:\n  - {name: s, of: a, within: 2h}\n  - {name: s, of: b, within: 2h}", "a.yaml:3:1: SLA 's' is also in a.yaml:2; rename one"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, sla: t}", "a.yaml:2:43: rule 'a': there is no SLA 't'; declare it below `slas:`"),
        ("rules:\n  - {name: a, when: gone, to: o@p.q, sla: s}\nslas:\n  - {name: s, of: a, within: 2h}", "a.yaml:2:43: rule 'a': sla is about `when: late`; leave"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, by: '07:00', sla: s}\nslas:\n  - {name: s, of: a, within: 2h}", "a.yaml:2:56: rule 'a': write by or sla, not both"),
        ("rules:\n  - {name: a, when: late, to: o@p.q, sla: s, of: b}\nslas:\n  - {name: s, of: a, within: 2h}", "a.yaml:2:50: rule 'a': the SLA 's' says of what; leave `of` out"),
        ("rules:\n\t- name: a", "a.yaml:2:1: not YAML: a tab cannot indent YAML; write spaces"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_remedy(text: str, problem: str) -> None:
    assert any(each.startswith(problem) for each in problems(text)), problems(text)


def test_all_mistakes_are_named_at_once() -> None:
    assert len(problems("rules:\n  - {name: a, when: x}\n  - {name: b, to: c@d.e}")) == 3


def test_deadlines_follow_the_clock_of_their_zone() -> None:
    deadline = Deadline(7 * 60, "Europe/Berlin", (1, 2, 3, 4, 5))
    first, last = dt.datetime(2026, 3, 27, 12, tzinfo=dt.UTC), dt.datetime(2026, 3, 31, 12, tzinfo=dt.UTC)
    found = [(before.isoformat()[:16], at.isoformat()[:16]) for before, at in deadline.between(first, last)]
    # Clocks change on Sunday the 29th; Saturday and Sunday have no deadline.
    assert found == [("2026-03-27T06:00", "2026-03-30T05:00"), ("2026-03-30T05:00", "2026-03-31T05:00")]


@pytest.mark.parametrize(
    ("quiet", "moment", "opens"),
    [
        ("22:00-07:00", "2026-11-27T23:30", "2026-11-28T07:00"),
        ("22:00-07:00", "2026-11-27T06:59", "2026-11-27T07:00"),
        ("22:00-07:00", "2026-11-27T12:00", "2026-11-27T12:00"),
        ("22:00-07:00 sat,sun", "2026-11-27T23:30", "2026-11-30T07:00"),
        ("12:00-13:00 Europe/Berlin", "2026-11-27T11:30", "2026-11-27T12:00"),
    ],
)
def test_messages_wait_for_the_end_of_quiet_hours(quiet: str, moment: str, opens: str) -> None:
    (rule,) = one(f"rules:\n  - {{name: a, when: late, to: o@p.q, quiet: '{quiet}'}}").rules
    assert rule.quiet is not None
    at = dt.datetime.fromisoformat(moment).replace(tzinfo=dt.UTC)
    assert rule.quiet.end(at).isoformat()[:16] == opens


@pytest.mark.parametrize(
    ("of", "is_selected"),
    [
        ("tag:tier", True), ("tag:tier:gold", True), ("tag:tier:silver", False), ("owner:ana*", True), ("team:web", True),
        ("namespace:db", True), ("mart.*", True), ("dataset:mart.orders", True), ("job:mart.orders", False), ("orders", True), ("order", False),
        ("+reports", True), ("reports+", False),
    ],
)  # fmt: skip
def test_selections(of: str, is_selected: bool) -> None:
    (rule,) = one(f"rules:\n  - {{name: a, when: late, to: o@p.q, of: '{of}'}}").rules
    orders = Traits("dataset:db:mart.orders", "db", ("tier:gold",), ("ana@x.org",), ("web",), frozenset({"+reports"}))
    assert selects(rule.of, orders) is is_selected


def test_names_become_addresses_or_are_reported() -> None:
    people = {"ana": ("ana@x.org",), "team web": ("channel:web", "web@x.org")}
    behind = Contacts(("ana", "bob"), ("web",), ("eve@x.org",))
    to = ("owner", "team", "downstream owners", "channel:ops", "carl")
    assert resolve_addresses(to, behind, people) == (
        ["ana@x.org", "channel:web", "web@x.org", "eve@x.org", "channel:ops"], ["bob", "carl"],
    )  # fmt: skip
    assert resolve_addresses(("owner",), Contacts(), people) == ([], ["the owner, who is not named"])


def test_a_rule_holds_since_its_name_has_been_there() -> None:
    days = [dt.datetime(2026, 11, day, tzinfo=dt.UTC) for day in (1, 2, 3)]
    a, b = (one(f"rules:\n  - {{name: {name}, when: late, to: o@p.q}}") for name in "ab")
    both = RuleSet((*a.rules, *b.rules))

    def since(versions: list[tuple[dt.datetime, RuleSet]]) -> list[tuple[str, int]]:
        return [(each.rule.name, each.since.day) for each in active_rules(versions)]

    assert since([(days[0], a), (days[1], both)]) == [("a", 1), ("b", 2)]
    assert since([(days[0], a), (days[1], b), (days[2], both)]) == [("a", 3), ("b", 2)]
