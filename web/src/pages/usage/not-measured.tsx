import { Empty } from "../../parts/message.tsx";

export function NotMeasured() {
  return (
    <Empty title="No query log was read yet" command="headwater sync query-log --help">
      Use, cost and recurrence are measured from a warehouse's query log.
    </Empty>
  );
}
