// Beside the graph: what the selected node is, in short, and the ways on. Its page has the rest.
import { Link } from "@tanstack/react-router";
import { useDataset, useJob, useReference } from "../../api/queries.ts";
import { duration, plural } from "../../format.ts";
import { bareName } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Copy } from "../../parts/copy.tsx";
import { NodeList } from "../../parts/node-link.tsx";
import { Facts, Tags } from "../../parts/page.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { State as StateWord } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { When } from "../../parts/when.tsx";
import type { Folded } from "./fold.ts";
import type { Patch, State } from "./lineage-page.tsx";
import { Details } from "./details.tsx";

interface Props {
  id: string;
  state: State;
  change: Patch;
  onRoot(id: string): void;
  onFold(id: string): void;
  folded: Folded | null;
}

export function Inspector({ id, state, change, onRoot, onFold, folded }: Props) {
  const isJob = id.startsWith("job:");
  const inside = folded?.inside.get(id);
  const opened = folded?.opened.find(
    (parent) => parent === id || folded.nodes.some((n) => n.id === id && n.type === "JOB" && n.parent === parent),
  );
  return (
    <Details
      title={<>{bareName(id)}</>}
      buttons={
        <>
          <Link
            className="button"
            to={isJob ? "/jobs/$id/{-$tab}" : "/datasets/$id/{-$tab}"}
            params={{ id: bareName(id), tab: undefined }}
          >
            Open page
          </Link>
          {!isJob && (
            <Link
              className="button quiet"
              to="/whatif"
              search={{ of: state.field && state.selected === id ? `${id}.${state.field}` : id }}
            >
              What if
            </Link>
          )}
          {state.node !== id && (
            <>
              <button type="button" className="button quiet" onClick={() => onRoot(id)}>
                Start here
              </button>
              <button type="button" className="button quiet" onClick={() => change({ to: id })}>
                Path
              </button>
            </>
          )}
          {(inside || opened) && (
            <button type="button" className="button quiet" onClick={() => onFold(inside ? id : opened!)}>
              {inside ? `Unfold ${inside.length}` : "Fold"}
            </button>
          )}
        </>
      }
      beside={<Copy text={id} what="the id" />}
      close={() => change({ selected: undefined, field: undefined })}
    >
      {isJob ? (
        <JobDetails key={id} id={id} asOf={state.asOf} />
      ) : (
        <DatasetDetails key={id} id={id} state={state} change={change} />
      )}
    </Details>
  );
}

function DatasetDetails({ id, state, change }: { id: string; state: State; change: Patch }) {
  const reference = useReference(id);
  const dataset = useDataset(reference.data, state.asOf);
  return (
    <Answered of={reference.error ? (reference as never) : dataset}>
      {(one: NonNullable<typeof dataset.data>) => (
        <div className="inspector-body">
          {one.description && <p>{one.description}</p>}
          <Tags tags={one.tags} />
          <Facts
            facts={[
              ["Owners", one.owners.length > 0 && one.owners.map((owner) => owner.name).join(", ")],
              ["Updated", <When key="u" at={one.updated_at} />],
              ["Versions", one.version_count],
              ["Written by", plural(one.producers.length, "job")],
              ["Read by", plural(one.consumers.length, "job")],
            ]}
          />
          <h3>{plural(one.fields.length, "column")}</h3>
          {one.fields.length === 0 && <p className="soft">No schema was reported for this dataset.</p>}
          <ul className="columns">
            {one.fields.map((field) => {
              const on = state.field === field.name && state.selected === id;
              return (
                <li key={field.name}>
                  <button
                    type="button"
                    className={`plain name mono${on ? " is-on" : ""}`}
                    aria-pressed={on}
                    title="Trace this column through the graph"
                    onClick={() =>
                      change(on ? { field: undefined } : { selected: id, field: field.name, columns: true })
                    }
                  >
                    {field.name}
                  </button>
                  <span className="soft mono">{field.type}</span>
                  <Tags tags={field.tags} />
                </li>
              );
            })}
          </ul>
        </div>
      )}
    </Answered>
  );
}

function JobDetails({ id, asOf }: { id: string; asOf: string | null }) {
  const reference = useReference(id);
  const job = useJob(reference.data, asOf);
  return (
    <Answered of={reference.error ? (reference as never) : job}>
      {(one: NonNullable<typeof job.data>) => (
        <div className="inspector-body">
          {one.description && <p>{one.description}</p>}
          <Tags tags={one.tags} />
          <h3>Last runs</h3>
          {one.runs.length === 0 && <p className="soft">This job has not run yet.</p>}
          <ul className="runs">
            {one.runs.slice(0, 8).map((run) => (
              <li key={run.id}>
                <StateWord state={runState(run)} />
                <RunLink id={run.id}>
                  <When at={run.started_at} />
                </RunLink>
                <span className="soft">{duration(run.duration_ms)}</span>
              </li>
            ))}
          </ul>
          <h3>Reads</h3>
          <NodeList ids={one.inputs} none="It is not known to read anything." />
          <h3>Writes</h3>
          <NodeList ids={one.outputs} none="It is not known to write anything." />
        </div>
      )}
    </Answered>
  );
}
