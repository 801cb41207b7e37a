// The state of a list in its address, and how to change it.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { ListSearch } from "./questions.ts";

const route = getRouteApi("/catalogue/$kind");

export function useList() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const change = useCallback(
    (patch: ListSearch, replace = false) =>
      void navigate({ to: ".", search: (now) => ({ ...now, ...patch }) as never, replace }),
    [navigate],
  );
  return { search, change };
}
