// What people changed, the latest first: who, when, from what to what.
import { useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";

interface Props {
  target?: string;
  author?: string;
  since?: string;
  until?: string;
}

export function PeopleChanges({ target, author, since, until }: Props) {
  const [page, setPage] = useState(1);
  const list = useAsk(
    "/api/v2/changes",
    { query: { target, author, since, until, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  return (
    <Answered of={list}>
      {({ changes, total }) => (
        <Table
          label="Changes by people"
          rows={changes}
          keyOf={(change) => change.id}
          total={total}
          state={{ page }}
          onState={(next) => setPage(next.page ?? 1)}
          columns={[
            { id: "at", header: "When", value: (change) => change.at, cell: (change) => <When at={change.at} /> },
            { id: "author", header: "Who", value: (change) => change.author, cell: (change) => change.author },
            {
              id: "action",
              header: "Did",
              value: (change) => change.action,
              cell: (change) => change.action.replaceAll("_", " "),
            },
            {
              id: "target",
              header: "To",
              wide: true,
              value: (change) => change.target,
              cell: (change) => <NodeLink id={change.target.replace(/#.*$/, "")} />,
            },
            {
              id: "before",
              header: "Before",
              minor: true,
              value: (change) => text(change.before),
              cell: (change) => <span className="small">{text(change.before)}</span>,
            },
            {
              id: "after",
              header: "After",
              value: (change) => text(change.after),
              cell: (change) => <span className="small">{text(change.after)}</span>,
            },
          ]}
          empty={<Empty title="No person changed anything here" />}
        />
      )}
    </Answered>
  );
}

/** Only the values: what they are of is in the action. */
function text(values: Record<string, unknown>): string {
  const words = Object.values(values).map((value) => {
    if (value === null || value === undefined) return "nothing";
    if (typeof value !== "object") return String(value);
    const { name, value: inner, text: said } = value as { name?: unknown; value?: unknown; text?: unknown };
    return [name, inner ?? said].filter((one) => one !== null && one !== undefined).join(": ") || JSON.stringify(value);
  });
  return words.join(", ") || "nothing";
}
