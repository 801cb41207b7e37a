// Tags and owners for all rows that are ticked: one request each, and what was refused is said by name.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, send } from "../../api/client.ts";
import { useMe } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { bareName } from "../../names.ts";

interface Named {
  id: string;
  namespace: string;
  name: string;
}

interface Props {
  kind: "datasets" | "jobs";
  chosen: readonly Named[];
  clear(): void;
}

export function Bulk({ kind, chosen, clear }: Props) {
  const me = useMe();
  const client = useQueryClient();
  const [what, setWhat] = useState<"tag" | "owner">("tag");
  const [text, setText] = useState("");
  const [done, setDone] = useState<number | null>(null);
  const [refused, setRefused] = useState<string[]>([]);
  const may = me.data?.role === "write" || me.data?.role === "admin";
  if (chosen.length === 0 && refused.length === 0) return null;
  const value = text.trim();
  const apply = async () => {
    const failed: string[] = [];
    setRefused([]);
    for (const [i, row] of chosen.entries()) {
      setDone(i);
      const path = { kind, namespace: row.namespace, name: row.name };
      try {
        if (what === "tag")
          await send("put", "/api/v2/metadata/{kind}/{namespace}/{name}/tags/{tag}", tagArguments(path, value));
        else
          await send("put", "/api/v2/metadata/{kind}/{namespace}/{name}/owners/{owner}", {
            path: { ...path, owner: value },
            body: {},
          });
      } catch (error) {
        failed.push(`${bareName(row.id)}: ${error instanceof ApiError ? error.message : String(error)}`);
      }
    }
    setDone(null);
    setRefused(failed);
    if (failed.length === 0) {
      setText("");
      clear();
    }
    await client.invalidateQueries();
  };
  return (
    <form
      className="bulk add"
      aria-label="For all that are ticked"
      onSubmit={(event) => {
        event.preventDefault();
        if (value) void apply();
      }}
    >
      <b>{plural(chosen.length, kind.slice(0, -1))}</b>
      {may ? (
        <>
          <select
            aria-label="Add to all"
            value={what}
            onChange={(event) => setWhat(event.currentTarget.value as "tag" | "owner")}
          >
            <option value="tag">tag</option>
            <option value="owner">owner</option>
          </select>
          <input
            aria-label={what === "tag" ? "The tag" : "The owner"}
            placeholder={what === "tag" ? "pii or team:sales" : "ana"}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" className="button" disabled={!value || done !== null || chosen.length === 0}>
            {done === null ? "Add to all" : `${done} of ${chosen.length}`}
          </button>
        </>
      ) : (
        <span className="soft">You may read. To tag and own, ask for the role write.</span>
      )}
      <button type="button" className="button quiet" onClick={clear}>
        Tick none
      </button>
      {refused.length > 0 && (
        <p className="refused" role="alert">
          {plural(refused.length, "row")} refused: {refused.slice(0, 5).join("; ")}
        </p>
      )}
    </form>
  );
}

/** `key:value` is a tag with a value. */
function tagArguments(path: { kind: string; namespace: string; name: string }, text: string) {
  const cut = text.indexOf(":");
  return cut > 0
    ? { path: { ...path, tag: text.slice(0, cut) }, body: { value: text.slice(cut + 1) } }
    : { path: { ...path, tag: text }, body: {} };
}
