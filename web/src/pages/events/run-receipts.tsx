import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Table } from "../../parts/table.tsx";
import { receiptColumns } from "./receipt-columns.tsx";

const EVER = "1970-01-01T00:00:00Z";

export function RunReceipts({ run }: { run: string }) {
  const list = useAsk("/api/v2/receipts", { query: { run, since: EVER, limit: 200 } });
  return (
    <Answered of={list}>
      {({ receipts, more }) => (
        <Table
          label="Events of the run"
          rows={receipts}
          keyOf={(receipt) => receipt.id}
          more={more}
          columns={receiptColumns}
          empty={
            <Empty title="No event of it is in the log any more">
              Retention may have deleted them.{" "}
              <Link to="/events/{-$tab}" params={{ tab: undefined }}>
                All events
              </Link>
            </Empty>
          }
        />
      )}
    </Answered>
  );
}
