// Two runs side by side: what differs is marked.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAsk, useRun } from "../../api/queries.ts";
import type { RunDetail } from "../../api/types.ts";
import { count, duration, exact } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { lookOf } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { RunDifferences } from "../job/why.tsx";

const route = getRouteApi("/runs/$id/{-$tab}");

export function Beside({ run }: { run: RunDetail }) {
  const { with: other } = route.useSearch();
  const navigate = useNavigate();
  const list = useAsk("/api/v2/runs", { query: { job: run.job, limit: 50 } });
  const others = (list.data?.runs ?? []).filter((one) => one.id !== run.id);
  const chosen = other ?? others.find((one) => one.started_at < run.started_at)?.id ?? others[0]?.id;
  if (list.data && others.length === 0 && !other) return <Empty title="This is the only run of the job" />;
  return (
    <>
      <label className="inline">
        Beside{" "}
        <select
          value={chosen ?? ""}
          onChange={(event) => {
            const value = event.currentTarget.value;
            void navigate({ to: ".", search: (now) => ({ ...now, with: value }) as never });
          }}
        >
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {exact(one.started_at)}, {lookOf(runState(one)).word}, {duration(one.duration_ms)}
            </option>
          ))}
        </select>
      </label>
      {chosen && <Two run={run} other={chosen} />}
      {chosen && <RunDifferences before={chosen} after={run.id} />}
    </>
  );
}

function Two({ run, other }: { run: RunDetail; other: string }) {
  const query = useRun(other);
  return (
    <Answered of={query} lines={8}>
      {(second) => {
        const datasets = [...new Set([...run.inputs, ...second.inputs].map((input) => input.dataset))];
        const outputs = [...new Set([...run.outputs, ...second.outputs].map((output) => output.dataset))];
        const keys = [...new Set([...Object.keys(run.parameters), ...Object.keys(second.parameters)])].sort();
        const names = distinguish([...datasets, ...outputs].map((id) => ({ id })));
        const versionOf = (one: RunDetail, id: string) => {
          const input = one.inputs.find((found) => found.dataset === id);
          return input ? (input.external_version ?? input.version_id ?? "version not known") : "not read";
        };
        const rowsOf = (one: RunDetail, id: string) => {
          const output = one.outputs.find((found) => found.dataset === id);
          return output ? count(output.rows) : "not written";
        };
        const lines: [name: string, of: (one: RunDetail) => ReactNode][] = [
          ["Started", (one) => exact(one.started_at)],
          ["State", (one) => lookOf(runState(one)).word],
          ["Took", (one) => duration(one.duration_ms)],
          ["Code", (one) => one.code?.version?.slice(0, 12) ?? "not known"],
          ["Run by", (one) => one.user ?? "not known"],
          ["Error", (one) => one.error ?? "none"],
          ...keys.map((key): (typeof lines)[number] => [
            `parameter ${key}`,
            (one) => String(one.parameters[key] ?? "not set"),
          ]),
          ...datasets.map((id): (typeof lines)[number] => [`read ${names.get(id)}`, (one) => versionOf(one, id)]),
          ...outputs.map((id): (typeof lines)[number] => [`rows of ${names.get(id)}`, (one) => rowsOf(one, id)]),
        ];
        return (
          <div className="table-scroll" tabIndex={0} role="region" aria-label="Two runs side by side">
            <table className="table beside-table">
              <thead>
                <tr>
                  <th scope="col">What</th>
                  <th scope="col">This run</th>
                  <th scope="col">The other</th>
                </tr>
              </thead>
              <tbody>
                {lines.map(([name, of]) => (
                  <tr key={name} className={of(run) === of(second) ? undefined : "differs"}>
                    <th scope="row">{name}</th>
                    <td className="mono">{of(run)}</td>
                    <td className="mono">
                      {of(second)}
                      {of(run) !== of(second) && <span className="sr-only"> (differs)</span>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
      }}
    </Answered>
  );
}
