// The columns of a dataset; a click traces one through the graph.
import type { Field } from "../api/types.ts";
import { navigate, useUrl } from "../url.ts";

export function SchemaTable({ id, fields }: { id: string; fields: readonly Field[] }) {
  const { field: traced, selected } = useUrl();
  if (fields.length === 0) return <p className="soft">No schema was reported for this dataset.</p>;
  const described = fields.some((field) => field.description || field.tags.length > 0);
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Column</th>
          <th style={{ width: described ? "24%" : "40%" }}>Type</th>
          {described && <th style={{ width: "38%" }}>Description</th>}
        </tr>
      </thead>
      <tbody>
        {fields.map((field, i) => {
          const on = traced === field.name && selected === id;
          return (
            <tr key={i} className={on ? "is-on" : undefined}>
              <td>
                <button
                  type="button"
                  className="plain"
                  aria-pressed={on}
                  title="Trace this column through the graph"
                  onClick={() => navigate(on ? { field: null } : { selected: id, field: field.name, columns: true })}
                >
                  {field.name}
                </button>
              </td>
              <td className="mono soft">{field.type}</td>
              {described && (
                <td>
                  {field.description}
                  {field.tags.length > 0 && (
                    <div className="tags" style={{ marginTop: field.description ? 4 : 0 }}>
                      {field.tags.map((tag) => (
                        <span className="tag" key={tag} title={tag}>
                          {tag}
                        </span>
                      ))}
                    </div>
                  )}
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
