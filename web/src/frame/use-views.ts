// Saved views from where they are kept: everyone's and one's own on the server, and this browser's, which are all that a
// reader has whom the server cannot name.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { send } from "../api/client.ts";
import { useAsk, useMe } from "../api/queries.ts";
import { forgetView, isOwn, savedViews, saveView } from "./saved-views.ts";

/** Where a view is stored: on the server, shared or one's own, or in this browser alone. */
export type Keep = "everyone" | "me" | "browser";

export interface View {
  name: string;
  address: string;
  keep: Keep;
  /** Who saved it; null in the browser. */
  author: string | null;
}

const PATH = "/api/v2/views";
const LOCAL = ["views of this browser"];

export function useViews() {
  const me = useMe();
  const client = useQueryClient();
  const asked = useAsk(PATH);
  const local = useQuery({ queryKey: LOCAL, queryFn: savedViews, initialData: savedViews, staleTime: Infinity }).data;
  const named = me.data !== undefined && me.data.via !== "open";
  const mayShare = me.data?.role === "write" || me.data?.role === "admin";
  const views = useMemo<View[]>(
    () => [
      ...(asked.data?.views ?? [])
        // What the server holds is checked as what the storage holds: it must not lead away.
        .filter(({ address }) => isOwn(address))
        .map(({ name, address, shared, author }): View => ({
          name,
          address,
          keep: shared ? "everyone" : "me",
          author,
        })),
      ...local.map((one): View => ({ ...one, keep: "browser", author: null })),
    ],
    [asked.data, local],
  );
  const save = useCallback(
    async ({ name, address, keep }: Omit<View, "author">) => {
      if (keep === "browser") return void client.setQueryData(LOCAL, saveView({ name, address }));
      await send("put", `${PATH}/{name}`, { path: { name }, body: { address, shared: keep === "everyone" } });
      await client.invalidateQueries({ queryKey: [PATH] });
    },
    [client],
  );
  const remove = useCallback(
    async ({ name, address, keep }: View) => {
      if (keep === "browser") return void client.setQueryData(LOCAL, forgetView(address));
      await send("delete", `${PATH}/{name}`, { path: { name }, query: { shared: keep === "everyone" } });
      await client.invalidateQueries({ queryKey: [PATH] });
    },
    [client],
  );
  const mayRemove = (view: View) => view.keep !== "everyone" || mayShare;
  const choices: readonly Keep[] = [named ? "me" : "browser", ...(mayShare ? (["everyone"] as const) : [])];
  return { views, save, remove, mayRemove, choices };
}
