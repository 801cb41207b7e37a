// Each distinct combination of code, SQL, inputs and outputs, the latest first, with what changed.
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { When } from "../../parts/when.tsx";
import type { JobTabProps } from "./job-page.tsx";

export function CodeTab({ reference }: JobTabProps) {
  const versions = useAsk("/api/v2/jobs/{namespace}/{name}/versions", { path: reference });
  return (
    <Answered of={versions}>
      {({ versions: all, runs, examined }) =>
        all.length === 0 ? (
          <Empty title="No version of it is known" />
        ) : (
          <>
            {examined < runs && (
              <p className="soft">
                Of the last {plural(examined, "run")} of {runs}.
              </p>
            )}
            <ol className="timeline">
              {all.map((version) => (
                <li key={version.id}>
                  <When at={version.first_at} full />
                  <span>
                    {plural(version.runs, "run")} {version.current && <span className="tag">current</span>}
                    {version.code?.version && <span className="mono"> {version.code.version.slice(0, 12)}</span>}{" "}
                    {version.code?.dirty && <span className="tag">uncommitted changes</span>}
                  </span>
                  {version.changes && <Changes changes={version.changes} />}
                  {version.sql && (
                    <details>
                      <summary>SQL</summary>
                      <pre className="code" tabIndex={0}>
                        {version.sql}
                      </pre>
                    </details>
                  )}
                </li>
              ))}
            </ol>
          </>
        )
      }
    </Answered>
  );
}

interface Changed {
  sql_diff: string[] | null;
  inputs_added: string[];
  inputs_removed: string[];
  outputs_added: string[];
  outputs_removed: string[];
}

function Changes({ changes }: { changes: Changed }) {
  const ids = [changes.inputs_added, changes.inputs_removed, changes.outputs_added, changes.outputs_removed].flat();
  const names = distinguish(ids.map((id) => ({ id })));
  const lines = (list: readonly string[], sign: "+" | "−", word: string) =>
    list.map((id) => (
      <li key={`${sign}${word}${id}`} className={sign === "+" ? "added" : "gone"} title={id}>
        {sign} {word} {names.get(id)}
      </li>
    ));
  return (
    <ul className="diff">
      {lines(changes.inputs_added, "+", "reads")}
      {lines(changes.inputs_removed, "−", "reads")}
      {lines(changes.outputs_added, "+", "writes")}
      {lines(changes.outputs_removed, "−", "writes")}
      {changes.sql_diff?.map((line, i) => (
        <li key={i} className={line.startsWith("+") ? "added" : line.startsWith("-") ? "gone" : undefined}>
          {line}
        </li>
      ))}
    </ul>
  );
}
