// To mark a run or a version wrong: first who would be hit, and only then the verdict. Leads to the new incident, where it is planned.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMe, useSend } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { NodeLink } from "../../parts/node-link.tsx";
import { Refused } from "../../parts/refused.tsx";
import { Hits } from "./hits.tsx";

interface Props {
  kind: "RUN" | "VERSION";
  id: string;
  /** What is marked: completes "Who is hit if … is wrong". */
  what: string;
}

export function Condemn({ kind, id, what }: Props) {
  const me = useMe();
  const navigate = useNavigate();
  const [reason, setReason] = useState("");
  const preview = useSend("post", "/api/v2/incidents");
  const open = useSend("post", "/api/v2/incidents");
  const may = me.data?.role === "write" || me.data?.role === "admin";
  if (!may) return me.data ? <p className="soft">You may read. To mark it wrong, ask for the role write.</p> : null;
  const body = {
    origins: [{ kind, ref: id, columns: [] }],
    wrong: [],
    reason: reason.trim() || "marked on the page",
  };
  return (
    <>
      <div className="actions">
        <button
          type="button"
          className="button quiet"
          disabled={preview.isPending}
          onClick={() => preview.mutate({ body: { ...body, dry_run: true } })}
        >
          Who is hit if {what} is wrong
        </button>
      </div>
      <Refused error={preview.error ?? open.error} />
      {preview.data && (
        <div className="range">
          <Preview found={preview.data} />
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
        </div>
      )}
    </>
  );
}

type Found = NonNullable<ReturnType<typeof useSend<"post", "/api/v2/incidents">>["data"]>;

function Preview({ found: { reads, hits } }: { found: Found }) {
  const held = reads?.versions.filter((version) => version.current) ?? [];
  const datasets = [...new Map(held.map((version) => [version.dataset, version])).values()];
  return (
    <>
      <p>
        {plural(datasets.length, "dataset")} would hold a wrong version
        {hits.length > 0 && `, and parts of ${plural(hits.length, "dataset")} with a schedule would be wrong`}. Nothing
        is written yet.
      </p>
      <ul className="list" aria-label="Datasets that would hold a wrong version">
        {datasets.map(({ dataset, label }) => (
          <li key={dataset}>
            <NodeLink id={dataset} label={label} />
            <small className="soft">{reads?.owners[dataset]?.join(", ")}</small>
          </li>
        ))}
      </ul>
      {hits.length > 0 && <Hits hits={hits} />}
      {reads?.capped && <p className="notice-line">There may be more: the search was cut.</p>}
    </>
  );
}
