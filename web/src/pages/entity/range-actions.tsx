// What can be done about a range: see why, see who is hit, and only then mark it wrong and plan its repair.
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useAsk, useMe, useSend } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command } from "../../parts/message.tsx";
import { Refused } from "../../parts/refused.tsx";
import { Hits } from "../incidents/hits.tsx";
import { isRecord } from "../lineage/records.ts";

export function RangeActions({ entity, range }: { entity: string; range: string }) {
  const [why, setWhy] = useState(false);
  const [reason, setReason] = useState("");
  const me = useMe();
  const navigate = useNavigate();
  const preview = useSend("post", "/api/v2/incidents");
  const open = useSend("post", "/api/v2/incidents");
  const may = me.data?.role === "write" || me.data?.role === "admin";
  const body = { wrong: [{ entity, instances: [range], columns: [] }], reason: reason.trim() || "marked on the page" };
  return (
    <div className="range" role="region" aria-label={`Chosen: ${range}`}>
      <p>
        <b className="mono">
          {entity}@{range}
        </b>
      </p>
      <div className="actions">
        <button type="button" className="button quiet" aria-pressed={why} onClick={() => setWhy(!why)}>
          Why
        </button>
        <button
          type="button"
          className="button quiet"
          disabled={!may || preview.isPending}
          onClick={() => preview.mutate({ body: { ...body, dry_run: true } })}
        >
          Who is hit
        </button>
        <Command text={`headwater taint '${entity}@${range}' --dry-run`} />
      </div>
      {!may && me.data && <p className="soft">You may read. To mark parts wrong, ask for the role write.</p>}
      {why && <Suspects entity={entity} range={range} />}
      <Refused error={preview.error ?? open.error} />
      {preview.data && (
        <>
          <p>
            If it is wrong, {plural(preview.data.count, "part")} of {plural(preview.data.hits.length, "dataset")} would
            be wrong too. Nothing is written yet.
          </p>
          <Hits hits={preview.data.hits} />
          <form
            className="add"
            onSubmit={(event) => {
              event.preventDefault();
              open.mutate(
                { body: { ...body, dry_run: false } },
                {
                  onSuccess: (answer) => {
                    if (answer.id) void navigate({ to: "/incidents/$id", params: { id: answer.id } });
                  },
                },
              );
            }}
          >
            <input
              aria-label="Why it is wrong"
              placeholder="why it is wrong"
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
            />
            <button type="submit" className="button danger" disabled={open.isPending}>
              Mark wrong
            </button>
          </form>
        </>
      )}
    </div>
  );
}

/** What may have made it wrong: the lineage of the instances, with what speaks against each node, the nearest first. */
function Suspects({ entity, range }: { entity: string; range: string }) {
  const node = `${entity}@${range}`;
  const lineage = useAsk("/api/v2/lineage", { query: { node, wrong: true, direction: "upstream", depth: 100 } });
  return (
    <Answered of={lineage} lines={2}>
      {({ nodes, hidden, notes }) => {
        const rows = nodes.filter(isRecord).filter((one) => one.against !== null);
        rows.sort((a, b) => Math.abs(a.hop) - Math.abs(b.hop));
        return (
          <>
            {notes.map((note) => (
              <p className="notice-line" key={note}>
                {note}
              </p>
            ))}
            {rows.length === 0 ? (
              <p className="soft">Nothing upstream may have made it wrong.</p>
            ) : (
              <ul className="list">
                {rows.slice(0, 20).map((row) => (
                  <li key={row.id}>
                    <span className="mono">
                      {row.type === "INSTANCES"
                        ? `${row.entity}@${(row.of_these.length > 0 ? row.of_these : row.instances).slice(0, 3).join(", ")}`
                        : row.label}
                    </span>
                    <small className="soft">
                      {row.hop === 0 ? "itself" : `${plural(Math.abs(row.hop), "step")} upstream`}: {row.against}
                    </small>
                  </li>
                ))}
              </ul>
            )}
            {hidden.nodes > 0 && <p className="soft">At least {hidden.nodes} more were not looked at.</p>}
            <Link className="button quiet" to="/lineage/$node" params={{ node }} search={{ direction: "upstream" }}>
              Draw its lineage
            </Link>
          </>
        );
      }}
    </Answered>
  );
}
