// What each run left behind, newest first, and the difference of any two.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import type { Answer } from "../../api/client.ts";
import { bytes, count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";
import { SchemaDiff } from "./schema-tab.tsx";
import type { TabProps } from "./tab-props.ts";

type Version = Answer<"/api/v2/datasets/{namespace}/{name}/versions">["versions"][number];
type Changed = { before: unknown; after: unknown; ratio?: number | null };

const route = getRouteApi("/datasets/$id/{-$tab}");

export function VersionsTab({ dataset, reference }: TabProps) {
  const { from, to, page = 1 } = route.useSearch();
  const navigate = useNavigate();
  const change = (patch: { from?: string; to?: string; page?: number }) =>
    void navigate({ to: ".", search: (now) => ({ ...now, ...patch }) as never });
  const list = useAsk(
    "/api/v2/datasets/{namespace}/{name}/versions",
    { path: reference, query: { limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  const most = Math.max(...(list.data?.versions ?? []).map((version) => version.rows ?? 0), 1);
  const columns: Column<Version>[] = [
    {
      id: "compare",
      header: "Compare",
      cell: (version) => (
        <span className="radios">
          <input
            type="radio"
            name="from"
            aria-label={`Compare from the version of ${version.created_at}`}
            checked={from === version.id}
            onChange={() => change({ from: version.id })}
          />
          <input
            type="radio"
            name="to"
            aria-label={`Compare to the version of ${version.created_at}`}
            checked={to === version.id}
            onChange={() => change({ to: version.id })}
          />
        </span>
      ),
    },
    {
      id: "written",
      header: "Written",
      value: (version) => version.created_at,
      cell: (version) => <When at={version.created_at} />,
    },
    {
      id: "run",
      header: "Run",
      value: (version) => version.run?.run_id,
      cell: (version) => (version.run ? <RunLink id={version.run.run_id} /> : "–"),
    },
    {
      id: "state",
      header: "State",
      value: (version) => version.state,
      cell: (version) => <State state={version.state} />,
    },
    {
      id: "change",
      header: "Change",
      value: (version) => version.lifecycle,
      cell: (version) => (
        <>
          {version.lifecycle?.toLowerCase() ?? "append"} {version.schema_changed && <span className="tag">schema</span>}
        </>
      ),
    },
    {
      id: "rows",
      header: "Rows",
      number: true,
      value: (version) => version.rows,
      cell: (version) => (
        <span className="bar-cell">
          {count(version.rows)}
          <i className="bar" style={{ width: `${((version.rows ?? 0) / most) * 100}%` }} aria-hidden="true" />
        </span>
      ),
    },
    {
      id: "bytes",
      header: "Size",
      number: true,
      value: (version) => version.bytes,
      cell: (version) => bytes(version.bytes),
    },
    {
      id: "files",
      header: "Files",
      number: true,
      minor: true,
      value: (version) => version.files,
      cell: (version) => count(version.files),
    },
    {
      id: "lineage",
      header: "From and to",
      minor: true,
      value: (version) => version.id,
      cell: (version) => (
        <Link to="/lineage/$node" params={{ node: version.id }}>
          its lineage
        </Link>
      ),
    },
    {
      id: "external",
      header: "Version in storage",
      minor: true,
      value: (version) => version.external_version,
      cell: (version) => <span className="mono">{version.external_version ?? "–"}</span>,
    },
  ];
  return (
    <>
      {(from || to || (list.data?.total ?? 0) > 1) && <Difference reference={reference} from={from} to={to} />}
      <Section title="Versions">
        <Answered of={list} lines={8}>
          {({ total, versions }) => (
            <Table
              label="Versions"
              file={`${dataset.label} versions`}
              columns={columns}
              rows={versions}
              keyOf={(version) => version.id}
              total={total}
              state={{ page }}
              onState={(next) => change({ page: next.page })}
              empty={<Empty title="No run has written this dataset yet" />}
            />
          )}
        </Answered>
      </Section>
    </>
  );
}

function Difference({ reference, from, to }: { reference: TabProps["reference"]; from?: string; to?: string }) {
  const diff = useAsk("/api/v2/datasets/{namespace}/{name}/versions/diff", { path: reference, query: { from, to } });
  return (
    <Section title={from || to ? "Difference of the two" : "Difference of the last two"}>
      <Answered of={diff} lines={2}>
        {(answer) => (
          <div className="difference">
            <p className="soft">
              <When at={answer.before.created_at} full /> → <When at={answer.after.created_at} full />
            </p>
            {answer.same && <p>They are the same.</p>}
            <dl className="facts">
              {(["rows", "bytes", "files", "external_version", "job", "code"] as const).map(
                (key) =>
                  answer[key] && <Line key={key} name={key.replaceAll("_", " ")} changed={answer[key] as Changed} />,
              )}
              {Object.entries(answer.parameters).map(([key, changed]) => (
                <Line key={key} name={`parameter ${key}`} changed={changed as Changed} />
              ))}
            </dl>
            {!answer.same && <SchemaDiff diff={answer.schema} />}
          </div>
        )}
      </Answered>
    </Section>
  );
}

function Line({ name, changed }: { name: string; changed: Changed }) {
  const text = (value: unknown) =>
    typeof value === "number"
      ? name === "bytes"
        ? bytes(value)
        : count(value)
      : value == null
        ? "none"
        : String(value);
  return (
    <div>
      <dt>{name}</dt>
      <dd className="mono">
        {text(changed.before)} → {text(changed.after)}
        {changed.ratio != null && <span className="soft"> × {changed.ratio.toFixed(2)}</span>}
      </dd>
    </div>
  );
}
