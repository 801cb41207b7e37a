// For newcomers: five places to start, each a task on the data that is there; closed for good in this browser.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";

const KEY = "headwater.tour";

function wasClosed() {
  try {
    return localStorage.getItem(KEY) === "closed";
  } catch {
    return false; // storage may be forbidden: the tour shows then
  }
}

function close() {
  try {
    localStorage.setItem(KEY, "closed");
  } catch {
    // it shows again at the next visit then
  }
}

export function Tour() {
  const [closed, setClosed] = useState(wasClosed);
  const latest = useAsk("/api/v2/datasets", { query: { limit: 10 } }, { enabled: !closed });
  const dataset = latest.data?.datasets.find((one) => one.type === "DATASET" && one.fields.length > 0);
  const any = dataset ?? latest.data?.datasets[0];
  if (closed || !any) return null;
  const column = dataset?.type === "DATASET" ? dataset.fields[0].name : null;
  const id = any.id.replace(/^dataset:/, "");
  return (
    <Section
      title={column ? "New here? Five steps" : "New here? Four steps"}
      beside={
        <button
          type="button"
          className="plain"
          onClick={() => {
            close();
            setClosed(true);
          }}
        >
          I know my way
        </button>
      }
    >
      <ol className="tour" aria-label="Tour">
        <li>
          <b>Find a table.</b> Press <kbd>/</kbd> and type half of its name, or look at <NodeLink id={any.id} />.
        </li>
        <li>
          <b>See where it comes from</b> and who uses it:{" "}
          <Link to="/lineage/$node" params={{ node: any.id }}>
            draw its lineage
          </Link>
          . Arrow keys walk along it, a click shows details.
        </li>
        {column && (
          <li>
            <b>Follow a column</b> from its origin to every use:{" "}
            <Link to="/columns/$id/$column" params={{ id, column }}>
              {column}
            </Link>
            .
          </li>
        )}
        <li>
          <b>Can you trust it?</b> Marks say what is wrong, doubted or late; <Link to="/incidents">each incident</Link>{" "}
          leads to its cause and its repair.
        </li>
        <li>
          <b>Look around</b> by{" "}
          <Link to="/catalogue/$kind" params={{ kind: "teams" }}>
            team or product
          </Link>
          , or press <kbd>?</kbd> for all keys.
        </li>
      </ol>
    </Section>
  );
}
