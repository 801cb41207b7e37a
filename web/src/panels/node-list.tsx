// A list of nodes by id, each a way to its own panel and graph.
import { shortId } from "../format.ts";
import { PageLink } from "../pages/open-node.tsx";

export function NodeList({ title, ids, none }: { title: string; ids: readonly string[]; none: string }) {
  return (
    <section>
      <h3>
        {title} {ids.length > 0 && `(${ids.length})`}
      </h3>
      {ids.length === 0 ? (
        <p className="soft">{none}</p>
      ) : (
        <ul className="list">
          {ids.map((id) => (
            <li key={id}>
              <NodeLink id={id} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

export function NodeLink({ id, children }: { id: string; children?: React.ReactNode }) {
  return (
    <PageLink patch={{ selected: id, tab: null, run: null, field: null }} title={id}>
      <i className={`kind ${id.startsWith("job:") ? "job" : "dataset"}`} />
      <span style={{ minWidth: 0 }}>
        <strong className="name">{shortId(id)}</strong>
        <small className="name">{id.replace(/^(dataset|job):/, "")}</small>
      </span>
      {children}
    </PageLink>
  );
}
