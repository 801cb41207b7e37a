// Events out of RabbitMQ that could not be accepted: why, what they hold, and trying them again or throwing them away.
import { useState } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk, useMe, useSend } from "../../api/queries.ts";
import { bytes, count, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Refused } from "../../parts/refused.tsx";

type Letter = Answer<"/api/v2/admin/dead-letters">["letters"][number];

const NONE: ReadonlySet<string> = new Set();
const OUTCOMES: Record<string, string> = {
  replayed: "accepted",
  delivered: "already in the log",
  left: "refused again, and kept",
  discarded: "discarded",
};

export function DeadLettersTab() {
  const me = useMe();
  if (me.data && me.data.role !== "admin")
    return (
      <Empty title="Dead letters hold whole events">To see them and to try them again, ask for the role admin.</Empty>
    );
  return <Letters />;
}

function Letters() {
  const list = useAsk("/api/v2/admin/dead-letters");
  const [ticked, setTicked] = useState(NONE);
  const [shown, setShown] = useState<string | null>(null);
  const clear = () => {
    setTicked(NONE);
    setShown(null);
  };
  return (
    <Answered of={list} lines={6}>
      {({ configured, queue, letters, more }) =>
        configured ? (
          <>
            <Choices letters={letters} more={more} ticked={ticked} clear={clear} />
            <Table<Letter>
              label="Dead letters"
              rows={letters}
              keyOf={(one) => one.id}
              more={more}
              ticked={ticked}
              onTick={setTicked}
              columns={[
                {
                  id: "code",
                  header: "Reason",
                  wide: true,
                  value: (one) => `${one.code}: ${one.reason}`,
                  cell: (one) => (
                    <>
                      <button
                        type="button"
                        className="plain"
                        aria-expanded={shown === one.id}
                        title={one.explanation}
                        onClick={() => setShown(shown === one.id ? null : one.id)}
                      >
                        {one.code.replaceAll("_", " ")}
                      </button>{" "}
                      <span className="soft">{one.reason}</span>
                    </>
                  ),
                },
                { id: "at", header: "Since", value: (one) => one.at, cell: (one) => <When at={one.at} /> },
                {
                  id: "job",
                  header: "Job",
                  value: (one) => one.job,
                  cell: (one) => <span className="name">{one.job ?? <span className="soft">not readable</span>}</span>,
                },
                {
                  id: "run",
                  header: "Run",
                  minor: true,
                  value: (one) => one.run,
                  cell: (one) => (one.run ? <RunLink id={one.run} /> : <span className="soft">–</span>),
                },
                {
                  id: "bytes",
                  header: "Size",
                  number: true,
                  minor: true,
                  value: (one) => one.bytes,
                  cell: (one) => bytes(one.bytes),
                },
              ]}
              empty={<Empty title="No dead letters">Every event out of {queue} could be accepted.</Empty>}
            />
            {shown && letters.some((one) => one.id === shown) && (
              <LetterDetail letter={letters.find((one) => one.id === shown)!} />
            )}
          </>
        ) : (
          <Empty title="This server has no queue" command="HEADWATER_AMQP__URL=amqp://… headwater up">
            Events that come by HTTP are refused at once, with the reason. Letters of a RabbitMQ are shown here when the
            server is given its address.
          </Empty>
        )
      }
    </Answered>
  );
}

/** What is ticked, or everything, is tried again or thrown away; the second only after it was asked once more. */
function Choices({
  letters,
  more,
  ticked,
  clear,
}: {
  letters: readonly Letter[];
  more: boolean;
  ticked: ReadonlySet<string>;
  clear(): void;
}) {
  const replay = useSend("post", "/api/v2/admin/dead-letters/replay");
  const discard = useSend("post", "/api/v2/admin/dead-letters/discard");
  const [asking, setAsking] = useState(false);
  if (letters.length === 0 && !replay.data && !discard.data) return null;
  const ids = letters.map((one) => one.id).filter((id) => ticked.has(id));
  const chosen = ids.length > 0 ? { ids } : { all: true };
  const what = ids.length > 0 ? plural(ids.length, "letter") : more ? "all letters" : plural(letters.length, "letter");
  const busy = replay.isPending || discard.isPending;
  const done = replay.data ?? discard.data;
  return (
    <>
      {letters.length > 0 && (
        <div className="buttons">
          <button
            type="button"
            className="button"
            disabled={busy}
            onClick={() => {
              discard.reset();
              clear();
              replay.mutate({ body: chosen });
            }}
          >
            Try {what} again
          </button>
          {asking ? (
            <>
              <span>The events are lost for good.</span>
              <button
                type="button"
                className="button danger"
                disabled={busy}
                onClick={() => {
                  setAsking(false);
                  replay.reset();
                  clear();
                  discard.mutate({ body: chosen });
                }}
              >
                Discard {what}
              </button>
              <button type="button" className="plain" onClick={() => setAsking(false)}>
                Keep them
              </button>
            </>
          ) : (
            <button type="button" className="button quiet" disabled={busy} onClick={() => setAsking(true)}>
              Discard…
            </button>
          )}
        </div>
      )}
      <Refused error={replay.error ?? discard.error} />
      {busy && <p role="status">Working…</p>}
      {!busy && done && (
        <p role="status">
          {Object.entries(done.counts)
            .map(([outcome, n]) => `${count(n)} ${OUTCOMES[outcome] ?? outcome}`)
            .join(", ") || "No letter was there any more"}
          .
        </p>
      )}
    </>
  );
}

function LetterDetail({ letter }: { letter: Letter }) {
  const detail = useAsk("/api/v2/admin/dead-letters/{letter}", { path: { letter: letter.id } });
  return (
    <section className="section" aria-label="Letter">
      <p>{letter.explanation}</p>
      <Answered of={detail}>
        {({ body }) => (
          <pre className="raw" tabIndex={0}>
            {typeof body === "string" ? body : JSON.stringify(body, null, 2)}
          </pre>
        )}
      </Answered>
    </section>
  );
}
