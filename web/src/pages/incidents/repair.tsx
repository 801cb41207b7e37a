// What ends an incident that is no verdict: the jobs to run again in their order; for a doubt a verdict; and a way to mark a run wrong.
import { useState } from "react";
import { useMe, useSend } from "../../api/queries.ts";
import { NodeLink } from "../../parts/node-link.tsx";
import { Command } from "../../parts/message.tsx";
import { Refused } from "../../parts/refused.tsx";
import { Condemn } from "./condemn.tsx";
import type { Detail } from "./incident-page.tsx";

export function Repair({ incident }: { incident: Detail["incident"] }) {
  const { kind, jobs, cause, version_id: version } = incident;
  return (
    <div className="repair">
      {jobs.length > 0 && (
        <>
          <p>It ends by itself with the next good run. Run these again, in this order:</p>
          <ol className="list" aria-label="Jobs to run again">
            {jobs.map((job, i) => (
              <li key={job}>
                <span className="numbered">
                  <span className="soft">{i + 1}.</span> <NodeLink id={job} />
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
      {kind === "late" && jobs.length === 0 && <p>No job is known to write it: see its lineage, or ask its owner.</p>}
      {kind === "doubted" && version && <Trust version={version} />}
      {kind === "doubted" && version && <Condemn kind="VERSION" id={version} what="this version" />}
      {cause.kind === "run" && (
        <>
          <p>If what it wrote was used, mark it: everything made from it is then found and planned.</p>
          <Condemn kind="RUN" id={cause.id} what="what this run wrote" />
        </>
      )}
      <p className="soft">
        In a terminal: <Command text={incident.look} />
      </p>
    </div>
  );
}

/** A check doubts a version; a person who looked says that it is right. */
function Trust({ version }: { version: string }) {
  const me = useMe();
  const [note, setNote] = useState("");
  const fine = useSend("post", "/api/v2/verdicts");
  const may = me.data?.role === "write" || me.data?.role === "admin";
  if (!may) return null;
  return (
    <form
      className="add"
      onSubmit={(event) => {
        event.preventDefault();
        fine.mutate({ body: { fine: [{ kind: "VERSION", ref: version }], note: note.trim() } });
      }}
    >
      <input
        aria-label="Why it is right"
        placeholder="why it is right"
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <button type="submit" className="button quiet" disabled={fine.isPending}>
        It is right as it is
      </button>
      <Refused error={fine.error} />
    </form>
  );
}
