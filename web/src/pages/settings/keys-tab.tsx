import { useState } from "react";
import { useAsk, useSend } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Refused } from "../../parts/refused.tsx";

const ROLES = ["read", "write", "admin"] as const;

export function KeysTab() {
  const keys = useAsk("/api/v2/admin/keys");
  const revoke = useSend("delete", "/api/v2/admin/keys/{key}");
  return (
    <>
      <NewKey />
      <Section title="Keys">
        <Refused error={revoke.error} />
        <Answered of={keys}>
          {({ keys: rows }) => (
            <Table
              label="Keys"
              rows={rows}
              keyOf={(key) => key.id}
              columns={[
                { id: "name", header: "Name", wide: true, value: (key) => key.name, cell: (key) => key.name },
                { id: "role", header: "Role", value: (key) => key.role, cell: (key) => key.role },
                {
                  id: "limits",
                  header: "Sees",
                  minor: true,
                  value: (key) => key.limits.join(", "),
                  cell: (key) => key.limits.join(", ") || "everything",
                },
                {
                  id: "state",
                  header: "State",
                  value: (key) => (key.revoked_at ? "revoked" : "active"),
                  cell: (key) => (
                    <State
                      state={key.revoked_at ? "dropped" : "active"}
                      word={key.revoked_at ? "revoked" : undefined}
                    />
                  ),
                },
                {
                  id: "used",
                  header: "Last used",
                  value: (key) => key.last_used_at,
                  cell: (key) => <When at={key.last_used_at} />,
                },
                {
                  id: "expires",
                  header: "Expires",
                  minor: true,
                  value: (key) => key.expires_at,
                  cell: (key) => (key.expires_at ? <When at={key.expires_at} /> : "never"),
                },
                {
                  id: "by",
                  header: "Made by",
                  minor: true,
                  value: (key) => key.created_by,
                  cell: (key) => key.created_by,
                },
                {
                  id: "revoke",
                  header: "Revoke",
                  cell: (key) =>
                    !key.revoked_at && (
                      <button
                        type="button"
                        className="button quiet"
                        aria-label={`Revoke the key ${key.name}`}
                        onClick={() => revoke.mutate({ path: { key: key.id } })}
                      >
                        Revoke
                      </button>
                    ),
                },
              ]}
              empty={<Empty title="No key was made yet" command="headwater server keys create NAME --role write" />}
            />
          )}
        </Answered>
      </Section>
    </>
  );
}

function NewKey() {
  const [name, setName] = useState("");
  const [role, setRole] = useState<(typeof ROLES)[number]>("write");
  const make = useSend("post", "/api/v2/admin/keys");
  return (
    <Section title="Make a key">
      <form
        className="add"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) make.mutate({ body: { name: name.trim(), role } }, { onSuccess: () => setName("") });
        }}
      >
        <input
          aria-label="Name of the key"
          placeholder="name, such as airflow-prod"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <select aria-label="Role" value={role} onChange={(event) => setRole(event.currentTarget.value as typeof role)}>
          {ROLES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <button type="submit" className="button" disabled={make.isPending}>
          Make
        </button>
      </form>
      <Refused error={make.error} />
      {make.data && (
        <p className="notice-line" role="status">
          The key of {make.data.name}, shown only now: <Command text={make.data.key} />
        </p>
      )}
    </Section>
  );
}
