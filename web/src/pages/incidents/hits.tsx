// Who is hit: each dataset with the ranges of its parts, how far downstream, and by which link.
import { Link } from "@tanstack/react-router";
import { count } from "../../format.ts";
import { Table } from "../../parts/table.tsx";

interface Hit {
  entity: string;
  instances: readonly string[];
  more: number;
  count: number;
  basis: string;
  depth: number;
  because: string;
}

export function Hits({ hits }: { hits: readonly Hit[] }) {
  return (
    <Table
      label="Who is hit"
      rows={hits}
      keyOf={(hit) => hit.entity}
      columns={[
        {
          id: "entity",
          header: "Dataset",
          value: (hit) => hit.entity,
          cell: (hit) => (
            <Link className="mono" to="/schedules/$entity" params={{ entity: hit.entity }}>
              {hit.entity}
            </Link>
          ),
        },
        {
          id: "instances",
          header: "Parts",
          wide: true,
          value: (hit) => hit.instances.join(" "),
          cell: (hit) => (
            <span className="mono small">
              {hit.instances.slice(0, 4).join(", ")}
              {hit.instances.length > 4 && ` and ${hit.instances.length - 4 + hit.more} ranges more`}
            </span>
          ),
        },
        { id: "count", header: "How many", number: true, value: (hit) => hit.count, cell: (hit) => count(hit.count) },
        { id: "depth", header: "Steps", number: true, value: (hit) => hit.depth, cell: (hit) => hit.depth },
        { id: "because", header: "Because", minor: true, value: (hit) => hit.because, cell: (hit) => hit.because },
      ]}
      empty={<p className="soft">Nothing else used it.</p>}
    />
  );
}
