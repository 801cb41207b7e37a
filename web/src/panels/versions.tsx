// What each run left behind, newest first.
import type { Version } from "../api/types.ts";
import { bytes, count } from "../format.ts";
import { When } from "../pages/when.tsx";
import { navigate } from "../url.ts";

export function Versions({ versions }: { versions: readonly Version[] }) {
  if (versions.length === 0) return <p className="soft">No run has written this dataset yet.</p>;
  const most = Math.max(...versions.map((version) => version.rows ?? 0), 1);
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Written</th>
          <th>Change</th>
          <th className="number">Rows</th>
          <th className="number">Size</th>
        </tr>
      </thead>
      <tbody>
        {versions.map((version) => (
          <tr key={version.id} title={version.external_version ? `version ${version.external_version}` : undefined}>
            <td>
              {version.run_id ? (
                <button
                  type="button"
                  className="plain"
                  style={{ fontFamily: "inherit" }}
                  title={`Run ${version.run_id}`}
                  onClick={() => navigate({ run: version.run_id })}
                >
                  <When at={version.created_at} />
                </button>
              ) : (
                <When at={version.created_at} />
              )}
            </td>
            <td>
              {version.lifecycle?.toLowerCase() ?? "append"}
              {version.schema_changed && (
                <span className="tag" style={{ marginLeft: 6 }} title={`${version.fields.length} columns from here on`}>
                  schema
                </span>
              )}
            </td>
            <td className="number">
              {count(version.rows)}
              <div
                aria-hidden="true"
                style={{
                  height: 3,
                  marginLeft: "auto",
                  width: `${((version.rows ?? 0) / most) * 100}%`,
                  background: "var(--dataset)",
                  opacity: 0.6,
                }}
              />
            </td>
            <td className="number">{bytes(version.bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
