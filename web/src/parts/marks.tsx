// Traits of datasets and jobs and labels of runs: what their facets say, each leading to everything that has the same.
import { Link } from "@tanstack/react-router";
import type { catalogue } from "../search-params.ts";

interface Mark {
  text: string;
  search: ReturnType<typeof catalogue>;
}

export const traitMarks = (traits: readonly string[]): Mark[] =>
  traits.map((trait) => ({ text: trait, search: { trait } }));

export const labelMarks = (labels: readonly { name: string; value: string }[]): Mark[] =>
  labels.map(({ name, value }) => ({ text: `${name}=${value}`, search: { label: `${name}=${value}` } }));

export function Marks({ marks, kind }: { marks: readonly Mark[]; kind: "datasets" | "jobs" | "runs" }) {
  return (
    <span className="tags">
      {marks.map(({ text, search }) => (
        <Link
          key={text}
          className="tag"
          to="/catalogue/$kind"
          params={{ kind }}
          search={search}
          title={`List all ${kind} with ${text}`}
        >
          {text}
        </Link>
      ))}
    </span>
  );
}
