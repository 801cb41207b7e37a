// One file that needs no server: the lineage that `headwater sql --html` wrote into it, drawn as the page draws.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "../styles/tokens.css";
import "./offline.css";
import { OfflinePage, type OfflineLineage } from "./offline-page.tsx";

// The page as it was built has no lineage in it.
const EMPTY: OfflineLineage = {
  title: "Lineage",
  summary: "Nothing is drawn here.",
  graph: { root: "", nodes: [], edges: [], links: [] },
};
const content = document.getElementById("lineage")?.textContent ?? "null";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <OfflinePage lineage={(JSON.parse(content) as OfflineLineage | null) ?? EMPTY} />
  </StrictMode>,
);
