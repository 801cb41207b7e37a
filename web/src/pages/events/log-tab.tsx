import { useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import type { EventsTabProps } from "./events-page.tsx";
import { receiptColumns } from "./receipt-columns.tsx";

export function LogTab({ search, change }: EventsTabProps) {
  const { producer, code, run, since, page = 1 } = search;
  const [text, setText] = useState(run ?? "");
  const list = useAsk(
    "/api/v2/receipts",
    { query: { producer, code, run, since, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  const narrowed = [
    ["producer", producer],
    ["code", code],
    ["run", run],
  ] as const;
  return (
    <Answered of={list} lines={8}>
      {({ receipts, more }) => (
        <>
          <Table
            label="Events"
            rows={receipts}
            keyOf={(receipt) => receipt.id}
            more={more}
            columns={receiptColumns}
            state={search}
            onState={change}
            empty={
              <Empty title="No event arrived in this time" command="headwater doctor">
                Take a narrowing away, or look further back.
              </Empty>
            }
          >
            <form
              className="add"
              onSubmit={(event) => {
                event.preventDefault();
                change({ run: text.trim() || undefined, page: undefined });
              }}
            >
              <input
                aria-label="Run id"
                placeholder="run id"
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
              />
            </form>
            {narrowed.map(
              ([key, value]) =>
                value && (
                  <button
                    type="button"
                    key={key}
                    className="chip"
                    onClick={() => change({ [key]: undefined, page: undefined })}
                  >
                    {key}: {value.slice(0, 40)} <span aria-hidden="true">×</span>
                  </button>
                ),
            )}
            {!since && (
              <button type="button" className="plain" onClick={() => change({ since: "1970-01-01T00:00:00Z" })}>
                the last seven days: show all
              </button>
            )}
          </Table>
          {(more || page > 1) && (
            <nav className="pager" aria-label="Pages of events">
              <button
                type="button"
                className="button quiet"
                disabled={page <= 1}
                onClick={() => change({ page: page - 1 })}
              >
                Later
              </button>
              <span>Page {page}</span>
              <button
                type="button"
                className="button quiet"
                disabled={!more}
                onClick={() => change({ page: page + 1 })}
              >
                Earlier
              </button>
            </nav>
          )}
        </>
      )}
    </Answered>
  );
}
