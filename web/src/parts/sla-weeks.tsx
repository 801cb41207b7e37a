// How SLAs and the deadlines of rules were met, week by week: of everything, or of what a selector selects.
import { useAsk } from "../api/queries.ts";
import { percent } from "../format.ts";
import { Section } from "./page.tsx";
import { Table } from "./table.tsx";

/** `of`: a selector, such as `product:funnel` or a node id. Nothing is drawn where no deadline is declared. */
export function SlaWeeks({ of }: { of?: string }) {
  const sla = useAsk("/api/v2/rules/sla", { query: of === undefined ? {} : { of } });
  if (!sla.data?.weeks.length) return null;
  return (
    <Section title="Deadlines by week">
      <Table
        label="Deadlines by week"
        rows={sla.data.weeks}
        keyOf={(one) => `${one.rule} ${one.week}`}
        columns={[
          { id: "rule", header: "SLA or rule", wide: true, value: (one) => one.rule, cell: (one) => one.rule },
          { id: "week", header: "Week of", value: (one) => one.week, cell: (one) => one.week },
          { id: "due", header: "Due", number: true, value: (one) => one.due, cell: (one) => one.due },
          { id: "missed", header: "Missed", number: true, value: (one) => one.missed, cell: (one) => one.missed },
          { id: "met", header: "Met", number: true, value: (one) => one.share, cell: (one) => percent(one.share) },
          {
            id: "goal",
            header: "Goal",
            value: (one) => one.goal,
            cell: (one) =>
              one.goal !== null && (
                <>
                  {percent(one.goal)} {one.kept ? "kept" : "missed"}
                </>
              ),
          },
          {
            id: "whole",
            header: "Whole",
            value: (one) => one.whole,
            cell: (one) => one.whole !== null && `${one.whole} of ${one.deadlines}`,
          },
          {
            id: "by",
            header: "Missed most by",
            minor: true,
            value: (one) => one.datasets.join(" "),
            cell: (one) => one.datasets.join(", "),
          },
        ]}
        empty={null}
      />
    </Section>
  );
}
