// Fresh, right, and where it is wrong: each light leads to what explains it.
import { Link } from "@tanstack/react-router";
import { type Reference, useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { State } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";

export function Lights({ reference, id }: { reference: Reference; id: string }) {
  const health = useAsk("/api/v2/datasets/{namespace}/{name}/freshness", { path: reference });
  if (!health.data) return null;
  const { state, last_update, cadence, quality } = health.data;
  const checks = quality.passed + quality.failed;
  return (
    <span className="lights">
      <Link className="light" to="/datasets/$id/{-$tab}" params={{ id, tab: "incidents" }}>
        <State state={state} word={state === "unknown" ? "no rhythm known" : undefined} />
        <span className="soft">
          {cadence.name && `learned: ${cadence.name}, `}
          {last_update ? (
            <>
              updated <When at={last_update} />
            </>
          ) : (
            "never updated"
          )}
        </span>
      </Link>
      <Link className="light" to="/datasets/$id/{-$tab}" params={{ id, tab: "incidents" }}>
        <State state={quality.state} word={checks === 0 ? "no checks" : undefined} />
        {checks > 0 && <span className="soft">{plural(checks, "check")}</span>}
      </Link>
    </span>
  );
}
