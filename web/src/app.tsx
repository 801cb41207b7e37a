// The frame of the page: the bar on top, and under it the start page or a graph, as the address says.
import { MantineProvider } from "@mantine/core";
import { useEffect } from "react";
import { useSignIn, useStatus } from "./api/queries.ts";
import { LineagePage } from "./pages/lineage-page.tsx";
import { StartPage } from "./pages/start-page.tsx";
import { focusSearch, SearchBox } from "./search/search-box.tsx";
import { mantineTheme, useTheme } from "./theme.ts";
import { navigate, useUrl } from "./url.ts";

export function App() {
  const { theme, toggle } = useTheme();
  const url = useUrl();
  const status = useStatus();
  const signIn = useSignIn(status.error);

  useEffect(() => {
    document.title = url.node ? `${url.node.replace(/^(dataset|job):/, "").slice(0, 80)} · Headwater` : "Headwater";
  }, [url.node]);

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = (event.target as HTMLElement).closest("input, textarea, select, [contenteditable]");
      if (event.key === "/" && !typing) {
        event.preventDefault();
        focusSearch();
      } else if (event.key === "Escape" && !typing) {
        // One thing at a time: the traced column, then the panel.
        if (url.field) navigate({ field: null });
        else if (url.run) navigate({ run: null });
        else if (url.selected) navigate({ selected: null, tab: null });
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [url]);

  return (
    <MantineProvider theme={mantineTheme} forceColorScheme={theme}>
      <div className="shell">
        <header className="top">
          <a className="brand" href="?" onClick={home} aria-label="Headwater, start page">
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M3 4c5 0 6 8 11 8h7M3 20c5 0 6-8 11-8M3 12h8" />
            </svg>
            Headwater
          </a>
          {url.node && (
            <div className="search">
              <SearchBox key="top" />
            </div>
          )}
          <div className="end">
            {signIn.data && <a href={signIn.data}>Sign in</a>}
            {status.data && <span className="mono">{status.data.version}</span>}
            <button
              type="button"
              className="icon-button"
              onClick={toggle}
              aria-label={theme === "dark" ? "Use light colours" : "Use dark colours"}
              title={theme === "dark" ? "Use light colours" : "Use dark colours"}
            >
              <svg viewBox="0 0 16 16" aria-hidden="true">
                {theme === "dark" ? (
                  <path d="M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" />
                ) : (
                  <path d="M13.5 9.8A6 6 0 1 1 6.2 2.5a4.8 4.8 0 0 0 7.3 7.3Z" />
                )}
              </svg>
            </button>
          </div>
        </header>
        {url.node ? <LineagePage node={url.node} theme={theme} /> : <StartPage />}
      </div>
    </MantineProvider>
  );
}

function home(event: React.MouseEvent) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  navigate({ node: null, selected: null, field: null, tab: null, run: null, q: "" });
}
