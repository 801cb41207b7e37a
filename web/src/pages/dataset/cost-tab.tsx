import { useAsk } from "../../api/queries.ts";
import { bytes, count, duration, money, percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import type { TabProps } from "./tab-props.ts";

export function CostTab({ dataset }: TabProps) {
  const cost = useAsk("/api/v2/cost", { query: { grain: "table", node: dataset.id } });
  return (
    <Answered of={cost}>
      {({ costs: [one] }) =>
        one ? (
          <Section title="What it costs">
            <Facts
              facts={[
                ["Money", money(one.money)],
                ["To keep, a month", money(one.keep_month)],
                ["Share of all", percent(one.share)],
                ["Executions", count(one.executions)],
                ["Bytes billed", bytes(one.bytes_billed)],
                ["Computing time", duration(one.duration_ms)],
                ["Credits", one.credits],
              ]}
            />
          </Section>
        ) : (
          <Empty title="Its cost was not measured" command="headwater sync query-log --help">
            Costs come from a warehouse's query log and a list of prices.
          </Empty>
        )
      }
    </Answered>
  );
}
