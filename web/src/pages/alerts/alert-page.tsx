// One alert: its cause, what it tells, each message, and who looks after it.
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useAsk, useMe, useSend } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Refused } from "../../parts/refused.tsx";
import { AlertState, type Alert, eventWords } from "./alert-state.tsx";

const route = getRouteApi("/alerts/$id");

export function AlertPage() {
  const { id } = route.useParams();
  const one = useAsk("/api/v2/alerts/{alert}", { path: { alert: id } });
  return (
    <Page
      title={one.data ? `${one.data.label}: ${eventWords(one.data.event)}` : "Alert"}
      mark={one.data && <AlertState alert={one.data} />}
      lede={one.data?.text}
    >
      <Answered of={one} lines={8}>
        {(alert) => (
          <>
            <Cause alert={alert} />
            <Acknowledge alert={alert} />
            <Members alert={alert} />
            <Messages alert={alert} />
          </>
        )}
      </Answered>
    </Page>
  );
}

const Subject = ({ subject, label }: { subject: string; label: string }) =>
  /^(dataset|job):/.test(subject) ? <NodeLink id={subject} label={label} /> : <span className="mono">{label}</span>;

function Cause({ alert }: { alert: Alert }) {
  return (
    <Section title="The first cause">
      <Facts
        facts={[
          ["Object", <Subject key="o" subject={alert.subject} label={alert.label} />],
          ["Since", <When key="s" at={alert.since} full />],
          ["Until", alert.until && <When key="u" at={alert.until} full />],
          ["Looked after by", alert.acknowledged_by && `${alert.acknowledged_by} ${alert.note}`],
          ["Muted until", alert.muted_until && <When key="m" at={alert.muted_until} full />],
          ["Without an address", alert.unaddressed.length > 0 && alert.unaddressed.join(", ")],
          ["To see more", <Command key="l" text={alert.look} />],
        ]}
      />
    </Section>
  );
}

function Acknowledge({ alert }: { alert: Alert }) {
  const me = useMe();
  const [note, setNote] = useState("");
  const acknowledge = useSend("post", "/api/v2/alerts/{alert}/acknowledge");
  const mute = useSend("post", "/api/v2/alerts/{alert}/mute");
  const may = me.data?.role === "write" || me.data?.role === "admin";
  if (!may) return null;
  const muted = alert.muted_until !== null && Date.parse(alert.muted_until) > Date.now();
  return (
    <Section title="What to do">
      <Refused error={acknowledge.error ?? mute.error} />
      <form
        className="add"
        onSubmit={(event) => {
          event.preventDefault();
          acknowledge.mutate({ path: { alert: alert.id }, body: { note } });
        }}
      >
        <input
          aria-label="What you do about it"
          placeholder="what you do about it"
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <button type="submit" className="button" disabled={acknowledge.isPending || alert.acknowledged_at !== null}>
          Acknowledge
        </button>
        <button
          type="button"
          className="button quiet"
          disabled={mute.isPending}
          onClick={() => {
            const until = muted ? null : new Date(Date.now() + 86_400_000).toISOString();
            mute.mutate({ path: { alert: alert.id }, body: { until } });
          }}
        >
          {muted ? "Send again" : "Mute for a day"}
        </button>
      </form>
    </Section>
  );
}

function Members({ alert }: { alert: Alert }) {
  return (
    <Section title="What it tells">
      <Table
        label="What it tells"
        rows={alert.members}
        keyOf={(one) => `${one.event} ${one.subject} ${one.since}`}
        columns={[
          {
            id: "object",
            header: "Object",
            wide: true,
            value: (one) => one.label,
            cell: (one) => <Subject subject={one.subject} label={one.label} />,
          },
          { id: "event", header: "Event", value: (one) => one.event, cell: (one) => eventWords(one.event) },
          { id: "since", header: "Since", value: (one) => one.since, cell: (one) => <When at={one.since} /> },
          {
            id: "until",
            header: "Until",
            value: (one) => one.until ?? "",
            cell: (one) => one.until && <When at={one.until} />,
          },
          { id: "text", header: "Because", minor: true, value: (one) => one.text, cell: (one) => one.text },
          {
            id: "rules",
            header: "By rules",
            minor: true,
            value: (one) => one.rules.join(" "),
            cell: (one) => one.rules.join(", "),
          },
        ]}
        empty={null}
      />
    </Section>
  );
}

function Messages({ alert }: { alert: Alert }) {
  return (
    <Section title="Messages">
      <Table
        label="Messages"
        rows={alert.messages}
        keyOf={(one) => one.id}
        columns={[
          {
            id: "to",
            header: "To",
            wide: true,
            value: (one) => one.address,
            cell: (one) => (one.stage ? `${one.address} (escalation ${one.stage})` : one.address),
          },
          { id: "state", header: "State", value: (one) => one.state, cell: (one) => <State state={one.state} /> },
          { id: "due", header: "Due", value: (one) => one.due_at, cell: (one) => <When at={one.due_at} /> },
          {
            id: "sent",
            header: "Sent",
            value: (one) => one.sent_at ?? "",
            cell: (one) => one.sent_at && <When at={one.sent_at} />,
          },
          {
            id: "tries",
            header: "Tries",
            number: true,
            minor: true,
            value: (one) => one.attempts,
            cell: (one) => one.attempts,
          },
          { id: "error", header: "Error", minor: true, value: (one) => one.last_error, cell: (one) => one.last_error },
        ]}
        empty={<p className="soft">No message: none of the people has an address.</p>}
      />
    </Section>
  );
}
