// A file, an item or a run: was it imported, what came before it, what came of it. A file that is dropped here stays here:
// only its fingerprint is asked for.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type DragEvent, useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { bytes, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { fingerprintOf } from "./fingerprint.ts";
import { Steps } from "./steps.tsx";

const route = getRouteApi("/trace");

export function TracePage() {
  const { id } = route.useSearch();
  const navigate = useNavigate();
  const [text, setText] = useState(id ?? "");
  const [over, setOver] = useState(false);
  const [reading, setReading] = useState<{ name: string; size: number; done: number } | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const ask = (next: string) => void navigate({ to: "/trace", search: (now) => ({ ...now, id: next || undefined }) });
  const take = async (file: File | undefined) => {
    if (!file) return;
    setTrouble(null);
    setReading({ name: file.name, size: file.size, done: 0 });
    try {
      const found = await fingerprintOf(file, (done) => setReading({ name: file.name, size: file.size, done }));
      setText(found);
      ask(found);
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    } finally {
      setReading(null);
    }
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer.files[0]);
  };
  return (
    <Page
      title="Trace a file"
      lede="Was it imported, what came before it, and what came of it. The file stays in your browser: only its fingerprint is asked for."
    >
      <div
        className={`drop${over ? " is-over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        {reading ? (
          <p role="status">
            Reading {reading.name}: {bytes(reading.done)} of {bytes(reading.size)}
          </p>
        ) : (
          <>
            <strong>Drop a file here</strong>
            <label className="button">
              Choose a file
              <input type="file" className="sr-only" onChange={(event) => void take(event.currentTarget.files?.[0])} />
            </label>
          </>
        )}
        {trouble && (
          <p className="refused" role="alert">
            {trouble}
          </p>
        )}
        <form
          className="add"
          onSubmit={(event) => {
            event.preventDefault();
            ask(text.trim());
          }}
        >
          <input
            aria-label="Fingerprint, item or run"
            placeholder="or a fingerprint, an item's id, a run's id"
            size={44}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" className="button">
            Trace
          </button>
        </form>
      </div>
      {id && (
        <>
          {id.startsWith("xxh3-128") && <Imported fingerprint={id} />}
          <Steps id={id} />
        </>
      )}
    </Page>
  );
}

function Imported({ fingerprint }: { fingerprint: string }) {
  const imports = useAsk("/api/v2/imports", { query: { fingerprint } });
  return (
    <Section title="Was it imported?">
      <p className="mono soft name" title={fingerprint}>
        {fingerprint}
      </p>
      <Answered of={imports} lines={2}>
        {({ imported, runs }) =>
          imported ? (
            <>
              <p>
                <State state="completed" word={`Yes, ${plural(runs.length, "time")}`} />
                {runs.length > 1 && ": the same content under more than one name, or again"}
              </p>
              <Table
                label="Imports"
                rows={runs}
                keyOf={(run) => run.run_id}
                columns={[
                  { id: "run", header: "Run", value: (run) => run.run_id, cell: (run) => <RunLink id={run.run_id} /> },
                  { id: "job", header: "Job", value: (run) => run.job, cell: (run) => <NodeLink id={run.job} /> },
                  {
                    id: "dataset",
                    header: "As",
                    wide: true,
                    value: (run) => run.dataset?.id,
                    cell: (run) => (run.dataset ? <NodeLink id={run.dataset.id} /> : "–"),
                  },
                  {
                    id: "ended",
                    header: "When",
                    value: (run) => run.ended_at,
                    cell: (run) => <When at={run.ended_at} />,
                  },
                  {
                    id: "forced",
                    header: "Forced",
                    minor: true,
                    value: (run) => String(run.forced),
                    cell: (run) => (run.forced ? "yes" : "no"),
                  },
                ]}
                empty={null}
              />
            </>
          ) : (
            <Empty title="No run that completed has read this content" command={`headwater lineage '${fingerprint}'`} />
          )
        }
      </Answered>
    </Section>
  );
}
