// What is open now, in a few lines: made for a frame on another page.
import { LATE, useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Page } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";

const SHOWN = 5;

export function StatusBanner() {
  const list = useAsk("/api/v2/open-incidents", { query: { limit: SHOWN } }, { every: LATE });
  return (
    <Page title="Status">
      <Answered of={list} lines={2}>
        {({ incidents, total }) => (
          <>
            <p role="status">
              {total === 0 ? (
                <State state="fixed" word="All is well" />
              ) : (
                <State state="open" word={plural(total, "incident")} />
              )}
            </p>
            <ul className="list" aria-label="Open incidents">
              {incidents.map((one) => (
                <li key={`${one.kind} ${one.id}`}>
                  <State state={one.kind} />{" "}
                  {/^(dataset|job):/.test(one.id) ? <NodeLink id={one.id} label={one.label} /> : one.label}{" "}
                  {one.since && (
                    <>
                      since <When at={one.since} />
                    </>
                  )}
                  {one.hit.length > 0 && `, ${plural(one.hit.length, "more is hit", "more are hit")}`}
                </li>
              ))}
            </ul>
            {total > incidents.length && <p className="soft">and {total - incidents.length} more</p>}
          </>
        )}
      </Answered>
    </Page>
  );
}
