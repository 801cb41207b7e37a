// A change that is not made yet: what it breaks, whose work it touches, and whom to warn. Its question is in the address.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useAskByBody } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import type { Do } from "../../search-params.ts";
import { Effects } from "./effects.tsx";
import { WhatIfTabs } from "./tabs.tsx";
import { changeOf, commandOf, questionOf, verdictOf, warningOf, type WhatIfSearch } from "./question.ts";

const route = getRouteApi("/whatif");

export function WhatIfPage() {
  const search = route.useSearch();
  const question = questionOf(search);
  const answer = useAskByBody("/api/v2/whatif", question ?? {}, question !== null);
  return (
    <Page
      title="What if"
      lede="What a change would break, whose work it touches, and whom to warn. Nothing is changed."
      tabs={<WhatIfTabs on="change" />}
    >
      <Ask key={JSON.stringify(search)} asked={search} />
      {question === null ? (
        <Empty title="Name a table or a column, or paste SQL" command="headwater whatif --drop shop.orders.amount">
          A column is written after its table: shop.orders.amount. A part of the name will do where it means one table.
        </Empty>
      ) : (
        <Answered of={answer} lines={8}>
          {(found) => (
            <>
              <Section
                title={
                  found.changes.length === 1 ? changeOf(found.changes[0]!) : plural(found.changes.length, "change")
                }
              >
                <p className="verdict" role="status">
                  <State
                    state={found.severity ?? "completed"}
                    word={found.severity ? undefined : found.unjudged.length > 0 ? "not judged" : "no effect known"}
                  />
                  <span>{verdictOf(found)}</span>
                  {found.warn.length > 0 && <Copy text={warningOf(found)} what="the list to warn" />}
                </p>
                {found.changes.length > 1 && (
                  <ul>
                    {found.changes.map((change) => (
                      <li key={changeOf(change)} className="mono name wraps">
                        {changeOf(change)}
                      </li>
                    ))}
                  </ul>
                )}
                {found.unknown.map((name) => (
                  <p className="notice-line" key={name}>
                    <span className="mono">{name}</span> is not known to the server; nothing is said of it.
                  </p>
                ))}
                {found.unjudged.map((one) => (
                  <p className="notice-line" key={one.text}>
                    Not judged: <span className="mono">{one.text}</span>: {one.reason}.
                  </p>
                ))}
                {found.hidden > 0 && (
                  <p className="notice-line">
                    {plural(found.hidden, "dataset")} further down: the readers of these were not looked at. Ask about
                    one of the last tables below to go on from there.
                  </p>
                )}
              </Section>
              <Effects answer={found} />
              <Command text={commandOf(question)} />
            </>
          )}
        </Answered>
      )}
    </Page>
  );
}

const KINDS: readonly [Do, string][] = [
  ["drop", "Drop"],
  ["rename", "Rename"],
  ["retype", "Change the type"],
  ["sql", "SQL"],
];

function Ask({ asked }: { asked: WhatIfSearch }) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(asked);
  useEffect(() => setDraft(asked), [asked]);
  const kind = draft.do ?? "drop";
  const change = (patch: WhatIfSearch) => setDraft((now) => ({ ...now, ...patch }));
  const send = () => {
    const { sql, dialect, of, to } = draft;
    const own = kind === "sql" ? { sql, dialect } : { of, to: kind === "drop" ? undefined : to };
    const none = { sql: undefined, dialect: undefined, of: undefined, to: undefined };
    void navigate({
      to: "/whatif",
      search: (now) => ({ ...now, ...none, ...own, do: kind === "drop" ? undefined : kind }),
    });
  };
  return (
    <form
      className="ask"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div className="choices" role="group" aria-label="The change">
        {KINDS.map(([one, word]) => (
          <button
            key={one}
            type="button"
            className="choice"
            aria-pressed={one === kind}
            onClick={() => change({ do: one === "drop" ? undefined : one })}
          >
            {word}
          </button>
        ))}
      </div>
      {kind === "sql" ? (
        <>
          <textarea
            aria-label="SQL"
            className="mono"
            rows={4}
            spellCheck={false}
            placeholder="alter table shop.orders drop column amount"
            value={draft.sql ?? ""}
            onChange={(event) => change({ sql: event.currentTarget.value })}
          />
          <input
            aria-label="Dialect"
            placeholder="dialect, such as snowflake"
            value={draft.dialect ?? ""}
            onChange={(event) => change({ dialect: event.currentTarget.value })}
          />
        </>
      ) : (
        <>
          <input
            aria-label="Table or column"
            className="mono wide"
            placeholder={kind === "retype" ? "shop.orders.amount" : "shop.orders or shop.orders.amount"}
            spellCheck={false}
            value={draft.of ?? ""}
            onChange={(event) => change({ of: event.currentTarget.value })}
          />
          {kind !== "drop" && (
            <input
              aria-label={kind === "rename" ? "New name" : "New type"}
              className="mono"
              placeholder={kind === "rename" ? "its new name" : "its new type, such as bigint"}
              spellCheck={false}
              value={draft.to ?? ""}
              onChange={(event) => change({ to: event.currentTarget.value })}
            />
          )}
        </>
      )}
      <button type="submit" className="button" disabled={questionOf(draft) === null}>
        What would happen
      </button>
    </form>
  );
}
