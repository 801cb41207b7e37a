// Everything that needs a person, under its first cause; and what was marked wrong before.
import { getRouteApi, Link } from "@tanstack/react-router";
import { LATE, useAsk } from "../../api/queries.ts";
import { count, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { lookOf, State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { IncidentLine } from "./incident-line.tsx";
import { FailingTogether } from "./shared-traits.tsx";

const route = getRouteApi("/incidents");

export function IncidentsPage() {
  const { kind } = route.useSearch();
  const list = useAsk("/api/v2/open-incidents", { query: { kind, limit: 200 } }, { keep: true, every: LATE });
  const all = useAsk("/api/v2/open-incidents", { query: { limit: 0 } });
  return (
    <Page
      title="Incidents"
      lede="What failed, fell silent, is late, doubted or wrong, each under its first cause, with who is hit, who owns it and what mends it. An entry ends by itself with the next good run."
    >
      <nav className="choices" aria-label="Kinds of incidents">
        <Link
          to="/incidents"
          search={{ kind: undefined }}
          className="choice"
          activeOptions={{ exact: true }}
          aria-current={!kind ? "page" : undefined}
        >
          all
        </Link>
        {Object.entries(all.data?.counts ?? {}).map(([one, n]) => (
          <Link
            key={one}
            to="/incidents"
            search={{ kind: one }}
            className="choice"
            activeOptions={{ exact: true }}
            aria-current={kind === one ? "page" : undefined}
          >
            {lookOf(one).word} {n}
          </Link>
        ))}
      </nav>
      <Section title="Open">
        <Answered of={list} lines={6}>
          {({ incidents, total, left_out }) =>
            incidents.length === 0 ? (
              <Empty title="Nothing is open">No run failed or fell silent, nothing is late, doubted or wrong.</Empty>
            ) : (
              <>
                <LeftOut counts={left_out} />
                <ul className="incident-list">
                  {incidents.map((incident) => (
                    <IncidentLine key={`${incident.kind} ${incident.id}`} incident={incident} full />
                  ))}
                </ul>
                {total > incidents.length && (
                  <p className="soft">
                    {plural(total - incidents.length, "more is", "more are")} not listed: narrow by a kind, or ask{" "}
                    <Command text="headwater status" />
                  </p>
                )}
              </>
            )
          }
        </Answered>
      </Section>
      {(all.data?.counts.failed ?? 0) > 1 && <FailingTogether />}
      <Marked />
    </Page>
  );
}

const LEFT_OUT: Record<string, string> = {
  wrong: "earlier incidents",
  failed: "failing jobs",
  late: "late datasets",
  unjudged: "datasets that may be late",
};

/** What there was too much of to look at. */
function LeftOut({ counts }: { counts: Record<string, number> }) {
  const some = Object.entries(counts);
  if (some.length === 0) return null;
  return (
    <p className="notice-line" role="status">
      Not looked at, because there are too many:{" "}
      {some.map(([kind, n]) => `${count(n)} ${LEFT_OUT[kind] ?? kind}`).join(", ")}.
    </p>
  );
}

function Marked() {
  const list = useAsk("/api/v2/incidents", { query: { limit: 100 } });
  return (
    <Section title="Marked wrong">
      <Answered of={list}>
        {({ incidents, total }) => (
          <Table
            label="Marked wrong"
            rows={incidents}
            keyOf={(one) => one.id}
            total={total}
            pageSize={100}
            columns={[
              {
                id: "reason",
                header: "Why",
                wide: true,
                value: (one) => one.reason,
                cell: (one) => (
                  <Link to="/incidents/$id" params={{ id: one.id }}>
                    {one.reason || one.id.slice(0, 8)}
                  </Link>
                ),
              },
              {
                id: "state",
                header: "State",
                value: (one) => one.state,
                cell: (one) => (
                  <State
                    state={one.mended && one.state === "open" ? "fixed" : one.state}
                    word={one.mended && one.state === "open" ? "mended" : undefined}
                  />
                ),
              },
              {
                id: "opened",
                header: "Opened",
                value: (one) => one.opened_at,
                cell: (one) => <When at={one.opened_at} />,
              },
              { id: "by", header: "By", minor: true, value: (one) => one.opened_by, cell: (one) => one.opened_by },
              {
                id: "wrong",
                header: "Parts still wrong",
                number: true,
                value: (one) => one.wrong,
                cell: (one) => one.wrong,
              },
              {
                id: "versions",
                header: "Versions",
                number: true,
                minor: true,
                value: (one) => one.versions,
                cell: (one) => one.versions,
              },
            ]}
            empty={
              <Empty title="Nothing was ever marked wrong" command="headwater taint RUN --dry-run">
                Mark a range in a schedule's calendar, or a run, a version or a file by this command.
              </Empty>
            }
          />
        )}
      </Answered>
    </Section>
  );
}
