// Beside the drawing: a single run, version or set of instances, and the ways to its pages.
import { Link } from "@tanstack/react-router";
import { bytes, count, duration } from "../../format.ts";
import { Copy } from "../../parts/copy.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Facts } from "../../parts/page.tsx";
import { State as StateWord } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";
import { askFor, ownerOf, type RecordNode } from "./records.ts";
import { Details } from "./details.tsx";

interface Props {
  node: RecordNode;
  isStart: boolean;
  onRoot(id: string): void;
  close(): void;
}

export function RecordDetails({ node, isStart, onRoot, close }: Props) {
  const ask = askFor(node);
  const owner = ownerOf(node);
  return (
    <Details
      title={<>{node.label}</>}
      buttons={
        <>
          {node.type === "RUN" && (
            <Link className="button" to="/runs/$id/{-$tab}" params={{ id: node.run_id, tab: undefined }}>
              Open page
            </Link>
          )}
          {node.type === "INSTANCES" && (
            <Link className="button" to="/schedules/$entity" params={{ entity: node.entity }}>
              Open page
            </Link>
          )}
          {ask !== null && !isStart && (
            <button type="button" className="button quiet" onClick={() => onRoot(node.id)}>
              Start here
            </button>
          )}
        </>
      }
      beside={ask !== null && <Copy text={ask} what="the id" />}
      close={close}
    >
      {owner && (
        <p>
          <NodeLink id={owner} />
        </p>
      )}
      {node.against && <p className="notice-line">{node.against}</p>}
      {node.type === "RUN" && (
        <>
          <Facts
            facts={[
              ["State", node.effective_state && <StateWord key="s" state={node.effective_state} />],
              ["Began", node.started_at && <When key="b" at={node.started_at} />],
              ["Took", node.duration_ms !== null && duration(node.duration_ms)],
              ["Version of the step", node.version],
              ["Forced", node.forced && "yes"],
              ["Overrides", node.overrides.length > 0 && node.overrides.join(", ")],
              ["Contents skipped", node.skipped.length > 0 && count(node.skipped.length)],
            ]}
          />
          {node.state === null && <p className="soft">No event of this run was received; others name it.</p>}
        </>
      )}
      {node.type === "VERSION" && (
        <>
          <Facts
            facts={[
              ["Written", node.written_at && <When key="w" at={node.written_at} />],
              ["Version", node.external_version && <span className="mono wraps">{node.external_version}</span>],
              ["Rows", node.rows !== null && count(node.rows)],
              ["Size", node.bytes !== null && bytes(node.bytes)],
              ["Files", node.files !== null && count(node.files)],
              ["Instances", node.instances.length > 0 && node.instances.join(", ")],
            ]}
          />
          {node.collided && (
            <p className="notice-line">
              Several runs claim its id:{" "}
              {node.claimed_by.map((run) => (
                <RunLink key={run.run_id} id={run.run_id} />
              ))}
            </p>
          )}
          {!node.version_id && <p className="soft">No write of it is recorded.</p>}
        </>
      )}
      {node.type === "INSTANCES" && (
        <>
          <h3>{count(node.count)} instances</h3>
          <ul className="list mono small">
            {node.instances.slice(0, 60).map((one) => (
              <li key={one} className={node.of_these.includes(one) ? "gone" : undefined}>
                {one}
              </li>
            ))}
          </ul>
          {node.count > 60 && <p className="soft">and {count(node.count - 60)} more</p>}
        </>
      )}
    </Details>
  );
}
