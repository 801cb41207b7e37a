import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";

const route = getRouteApi("/settings/{-$tab}");

export function AuditTab() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const page = search.page ?? 1;
  const list = useAsk(
    "/api/v2/admin/audit",
    { query: { actor: search.actor, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  return (
    <Answered of={list} lines={8}>
      {({ total, entries }) => (
        <Table
          label="Audit"
          rows={entries}
          keyOf={(entry) => String(entry.id)}
          total={total}
          state={search}
          onState={(next) => void navigate({ to: ".", search: (now) => ({ ...now, ...next }) as never })}
          columns={[
            { id: "at", header: "When", value: (entry) => entry.at, cell: (entry) => <When at={entry.at} /> },
            { id: "actor", header: "Who", value: (entry) => entry.actor, cell: (entry) => entry.actor },
            { id: "role", header: "Role", minor: true, value: (entry) => entry.role, cell: (entry) => entry.role },
            {
              id: "action",
              header: "Did",
              value: (entry) => entry.action,
              cell: (entry) => entry.action.replaceAll("_", " "),
            },
            {
              id: "target",
              header: "To",
              wide: true,
              value: (entry) => entry.target,
              cell: (entry) => (
                <span className="name mono" title={entry.target ?? entry.path}>
                  {entry.target ?? entry.path}
                </span>
              ),
            },
            {
              id: "status",
              header: "Status",
              number: true,
              value: (entry) => entry.status,
              cell: (entry) => entry.status ?? entry.method,
            },
          ]}
          empty={<Empty title="No change was made yet" />}
        />
      )}
    </Answered>
  );
}
