import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { bytes, duration } from "../../format.ts";
import { RunLink } from "../../parts/node-link.tsx";
import type { Column } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

type Receipt = Answer<"/api/v2/receipts">["receipts"][number];

export const receiptColumns: Column<Receipt>[] = [
  {
    id: "received",
    header: "Received",
    value: (one) => one.received_at,
    cell: (one) => (
      <Link to="/receipts/$digest" params={{ digest: one.id }}>
        <When at={one.received_at} />
      </Link>
    ),
  },
  {
    id: "kind",
    header: "Event",
    value: (one) => one.event_type ?? one.kind,
    cell: (one) => <span className="one-line">{`${one.kind}${one.event_type ? ` ${one.event_type}` : ""}`}</span>,
  },
  { id: "run", header: "Run", value: (one) => one.run, cell: (one) => (one.run ? <RunLink id={one.run} /> : "–") },
  {
    id: "warnings",
    header: "Warnings",
    wide: true,
    value: (one) => one.warnings.map((warning) => warning.code).join(" "),
    cell: (one) =>
      one.warnings.length ? (
        <span title={one.warnings.map((warning) => warning.message).join("\n")}>
          {one.warnings.map((warning) => warning.code.replaceAll("_", " ")).join(", ")}
        </span>
      ) : (
        <span className="soft">none</span>
      ),
  },
  {
    id: "producer",
    header: "Producer",
    minor: true,
    value: (one) => one.producer,
    cell: (one) => (
      <span className="name" title={one.producer}>
        {one.producer}
      </span>
    ),
  },
  {
    id: "delay",
    header: "On its way",
    number: true,
    minor: true,
    value: (one) => one.delay_seconds,
    cell: (one) => duration(Math.max(one.delay_seconds, 0) * 1000),
  },
  { id: "size", header: "Size", number: true, minor: true, value: (one) => one.size, cell: (one) => bytes(one.size) },
];
