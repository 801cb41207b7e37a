// What became of one event: the nodes it named, the versions it made, its warnings, and the event as it came.
import { getRouteApi } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { bytes, duration, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Copy } from "../../parts/copy.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

const route = getRouteApi("/receipts/$digest");

export function ReceiptPage() {
  const { digest } = route.useParams();
  const one = useAsk("/api/v2/receipts/{digest}", { path: { digest } });
  return (
    <Page
      title="What became of this event"
      beside={<Copy text={digest} what="the event's digest" />}
      lede={<span className="mono soft name">{digest}</span>}
    >
      <Answered of={one} lines={8}>
        {(receipt) => (
          <>
            <Section title="Facts">
              <Facts
                facts={[
                  ["Event", `${receipt.kind}${receipt.event_type ? ` ${receipt.event_type}` : ""}`],
                  ["Its own time", <When key="t" at={receipt.event_time} full />],
                  ["Received", <When key="r" at={receipt.received_at} full />],
                  ["On its way", duration(Math.max(receipt.delay_seconds, 0) * 1000)],
                  ["Run", receipt.run && <RunLink key="i" id={receipt.run} />],
                  ["Producer", receipt.producer],
                  ["Size", bytes(receipt.size)],
                ]}
              />
            </Section>
            <Section title="Warnings">
              {receipt.warnings.length === 0 ? (
                <p className="calm">Nothing about it was odd.</p>
              ) : (
                <ul className="list">
                  {receipt.warnings.map((warning, i) => (
                    <li key={i}>
                      <b>{warning.code.replaceAll("_", " ")}</b> {warning.message}{" "}
                      <span className="soft mono">{warning.where}</span>
                    </li>
                  ))}
                </ul>
              )}
            </Section>
            <Section title="What it named" beside={plural(receipt.nodes.length, "node")}>
              <Table
                label="What it named"
                rows={receipt.nodes}
                keyOf={(node) => `${node.id} ${node.told} ${JSON.stringify(node.part)}`}
                columns={[
                  {
                    id: "id",
                    header: "Node",
                    wide: true,
                    value: (node) => node.id,
                    cell: (node) => <NodeLink id={node.id} />,
                  },
                  {
                    id: "roles",
                    header: "As",
                    value: (node) => node.roles.join(" "),
                    cell: (node) => node.roles.join(", "),
                  },
                  {
                    id: "first",
                    header: "New",
                    value: (node) => String(node.first),
                    cell: (node) => (node.first ? "first seen here" : "known before"),
                  },
                  {
                    id: "told",
                    header: "Named in the event",
                    minor: true,
                    value: (node) => node.told,
                    cell: (node) => <span className="name mono">{node.told ?? "as here"}</span>,
                  },
                ]}
                empty={<p className="soft">Nothing.</p>}
              />
            </Section>
            {receipt.versions.length > 0 && (
              <Section title="Versions it made">
                <ul className="list">
                  {receipt.versions.map((version) => (
                    <li key={version.id}>
                      <NodeLink id={version.dataset} tab="versions" />
                      <small className="soft mono">{version.external_version ?? version.id.slice(0, 8)}</small>
                    </li>
                  ))}
                </ul>
              </Section>
            )}
            <Section
              title="The event, as it came"
              beside={<Copy text={JSON.stringify(receipt.event, null, 2)} what="the event" />}
            >
              <pre className="code tall" tabIndex={0}>
                {JSON.stringify(receipt.event, null, 2)}
              </pre>
            </Section>
          </>
        )}
      </Answered>
    </Page>
  );
}
