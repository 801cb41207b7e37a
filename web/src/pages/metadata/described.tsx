// Description, owners and tags: shown, and changed in place by who may.
import { useState } from "react";
import { type Reference, useMe, useSend } from "../../api/queries.ts";
import type { Owner } from "../../api/types.ts";
import { Section } from "../../parts/page.tsx";
import { Refused } from "../../parts/refused.tsx";

interface Node {
  id: string;
  description: string | null;
  description_origin: string | null;
  owners: readonly Owner[];
  tag_details: readonly { text: string; name: string; origin: string; author?: string | null }[];
}

interface Props {
  kind: "datasets" | "jobs";
  reference: Reference;
  node: Node;
}

export function Described({ kind, reference, node }: Props) {
  const me = useMe();
  // Nothing is offered before the role is known; the server refuses in any case.
  const may = me.data?.role === "write" || me.data?.role === "admin";
  const path = { kind, namespace: reference.namespace, name: reference.name };
  return (
    <>
      <Description path={path} node={node} may={may} />
      <Owners path={path} node={node} may={may} />
      <Tags path={path} node={node} may={may} />
      {me.data && !may && <p className="soft">You may read. To change what is said here, ask for the role write.</p>}
    </>
  );
}

interface PartProps {
  path: { kind: string; namespace: string; name: string };
  node: Node;
  may: boolean;
}

function Description({ path, node, may }: PartProps) {
  const [text, setText] = useState<string | null>(null);
  const put = useSend("put", "/api/v2/metadata/{kind}/{namespace}/{name}/description");
  const remove = useSend("delete", "/api/v2/metadata/{kind}/{namespace}/{name}/description");
  if (text !== null)
    return (
      <Section title="Description">
        <form
          className="edit"
          onSubmit={(event) => {
            event.preventDefault();
            const done = { onSuccess: () => setText(null) };
            if (text.trim()) put.mutate({ path, body: { text } }, done);
            else remove.mutate({ path }, done);
          }}
        >
          <textarea
            aria-label="Description"
            rows={4}
            value={text}
            autoFocus
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <span>
            <button type="submit" className="button" disabled={put.isPending || remove.isPending}>
              Save
            </button>{" "}
            <button type="button" className="button quiet" onClick={() => setText(null)}>
              Cancel
            </button>
          </span>
          <Refused error={put.error ?? remove.error} />
        </form>
      </Section>
    );
  return (
    <Section
      title="Description"
      beside={
        may && (
          <button type="button" className="plain" onClick={() => setText(node.description ?? "")}>
            Edit
          </button>
        )
      }
    >
      {node.description ? (
        <p className="description">
          {node.description}
          {node.description_origin === "MANUAL" && <small className="soft"> said by a person</small>}
        </p>
      ) : (
        <p className="soft">No description yet.</p>
      )}
    </Section>
  );
}

function Owners({ path, node, may }: PartProps) {
  const put = useSend("put", "/api/v2/metadata/{kind}/{namespace}/{name}/owners/{owner}");
  const remove = useSend("delete", "/api/v2/metadata/{kind}/{namespace}/{name}/owners/{owner}");
  return (
    <Section title="Owners">
      <span className="chips">
        {node.owners.length === 0 && <span className="soft">No owner yet.</span>}
        {node.owners.map((owner) => (
          <span className="chip" key={owner.name} title={originOf(owner)}>
            {owner.name}
            {owner.type && <small> {owner.type}</small>}
            {may && (
              <button
                type="button"
                className="plain"
                aria-label={`Remove the owner ${owner.name}`}
                onClick={() => remove.mutate({ path: { ...path, owner: owner.name } })}
              >
                ×
              </button>
            )}
          </span>
        ))}
        {may && <Add what="owner" add={(owner) => put.mutate({ path: { ...path, owner }, body: {} })} />}
      </span>
      <Refused error={put.error ?? remove.error} />
    </Section>
  );
}

function Tags({ path, node, may }: PartProps) {
  const put = useSend("put", "/api/v2/metadata/{kind}/{namespace}/{name}/tags/{tag}");
  const remove = useSend("delete", "/api/v2/metadata/{kind}/{namespace}/{name}/tags/{tag}");
  const add = (text: string) => {
    const [tag, ...value] = text.split(":");
    put.mutate({ path: { ...path, tag: tag.trim() }, body: value.length ? { value: value.join(":").trim() } : {} });
  };
  return (
    <Section title="Tags">
      <span className="chips">
        {node.tag_details.length === 0 && <span className="soft">No tags yet.</span>}
        {node.tag_details.map((tag) => (
          <span className="chip" key={tag.text} title={originOf(tag)}>
            {tag.text}
            {may && (
              <button
                type="button"
                className="plain"
                aria-label={`Remove the tag ${tag.text}`}
                onClick={() => remove.mutate({ path: { ...path, tag: tag.name } })}
              >
                ×
              </button>
            )}
          </span>
        ))}
        {may && <Add what="tag" add={add} />}
      </span>
      <Refused error={put.error ?? remove.error} />
    </Section>
  );
}

const originOf = (said: { origin: string; author?: string | null }) =>
  said.origin === "MANUAL" ? `said by ${said.author ?? "a person"}` : "from an event";

function Add({ what, add }: { what: string; add(text: string): void }) {
  const [text, setText] = useState("");
  return (
    <form
      className="add"
      onSubmit={(event) => {
        event.preventDefault();
        if (!text.trim()) return;
        add(text.trim());
        setText("");
      }}
    >
      <input
        aria-label={`Add a${what === "owner" ? "n" : ""} ${what}`}
        placeholder={`+ ${what}`}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}
