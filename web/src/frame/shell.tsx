// The frame around every page: the rail, the bar with search and time, and the keys that work everywhere.
import { MantineProvider } from "@mantine/core";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { queryClient, useAsk, useMe } from "../api/queries.ts";
import { followStale } from "../api/stale.ts";
import { isEmbedded, mayEmbed, unframed } from "../embedded.ts";
import { mantineTheme, useTheme } from "../theme.ts";
import { AsOf } from "./as-of.tsx";
import { Gate } from "./gate.tsx";
import { Icon } from "./icon.tsx";
import { Rail } from "./rail.tsx";
import { SaveView } from "./save-view.tsx";
import { useKeys } from "./use-keys.ts";

const Palette = lazy(() => import("./palette.tsx").then((module) => ({ default: module.Palette })));
const KeysHelp = lazy(() => import("./keys-help.tsx").then((module) => ({ default: module.KeysHelp })));

/** The theme alone draws this anew: a navigation must not make Mantine compute its colours again. */
export function Shell() {
  const { theme, toggle } = useTheme();
  useEffect(() => {
    document.documentElement.lang = "en";
  }, []);
  return (
    <MantineProvider theme={mantineTheme} forceColorScheme={theme}>
      {isEmbedded ? <Embedded /> : <Frame theme={theme} toggle={toggle} />}
    </MantineProvider>
  );
}

function Embedded() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [, setHears] = useState(true);
  useEffect(() => followStale(queryClient, setHears), []);
  return (
    <div className="content is-embedded" id="content">
      <p className="embedded-head">
        <a href={unframed()} target="_blank" rel="noreferrer">
          Open in Headwater
        </a>
      </p>
      {mayEmbed(path) ? <Outlet /> : <p className="notice-line">This is not shown in a frame.</p>}
    </div>
  );
}

function Frame({ theme, toggle }: ReturnType<typeof useTheme>) {
  const status = useAsk("/api/v2/status");
  const [searching, setSearching] = useState(false);
  const [helping, setHelping] = useState(false);
  const [hears, setHears] = useState(true);
  const navigate = useNavigate();
  useKeys({
    search: () => setSearching(true),
    help: () => setHelping(true),
    home: () => void navigate({ to: "/" }),
  });
  useEffect(() => followStale(queryClient, setHears), []);
  const other = theme === "dark" ? "Use light colours" : "Use dark colours";
  return (
    <>
      <a className="skip" href={`${location.pathname}#content`} onClick={skip}>
        Skip to the page
      </a>
      <div className="shell">
        <header className="top">
          <Link className="brand" to="/" aria-label="Headwater, home">
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M3 4c5 0 6 8 11 8h7M3 20c5 0 6-8 11-8M3 12h8" />
            </svg>
            <span>Headwater</span>
          </Link>
          <button type="button" className="search-button" onClick={() => setSearching(true)}>
            <Icon name="search" />
            <span>Search datasets, jobs and columns</span>
            <kbd>/</kbd>
          </button>
          <div className="end">
            {!hears && status.data && (
              <span className="soft" role="status" title="What you see may be out of date">
                Reconnecting
              </span>
            )}
            <SaveView />
            <AsOf />
            <Zone />
            <Me />
            <button type="button" className="icon-button" onClick={toggle} aria-label={other} title={other}>
              <Icon name={theme === "dark" ? "sun" : "moon"} />
            </button>
          </div>
        </header>
        <Rail />
        <div className="content" id="content" tabIndex={-1}>
          <Progress />
          {status.data === undefined && status.error ? (
            <Gate error={status.error} retry={() => void status.refetch()} />
          ) : (
            <Outlet />
          )}
        </div>
      </div>
      <Suspense fallback={null}>
        {searching && <Palette onClose={() => setSearching(false)} />}
        {helping && <KeysHelp onClose={() => setHelping(false)} />}
      </Suspense>
    </>
  );
}

function Zone() {
  const zone = useRouterState({ select: (state) => state.location.search.zone });
  return (
    <Link
      className="button quiet zone"
      to="."
      search={(now) => ({ ...now, zone: zone === "local" ? undefined : "local" })}
      title={zone === "local" ? "Times are in your zone. Show UTC." : "Times are in UTC. Show your own zone."}
    >
      {zone === "local" ? "Local" : "UTC"}
    </Link>
  );
}

/** Who is signed in, leading to what they may do and to the way out; nothing on an open server. */
function Me() {
  const me = useMe();
  if (!me.data || me.data.via === "open") return null;
  return (
    <Link className="button quiet me" to="/settings/{-$tab}" title={`${me.data.name}, ${me.data.role}`}>
      {me.data.name}
    </Link>
  );
}

function Progress() {
  const going = useRouterState({ select: (state) => state.isLoading });
  return going && <div className="progress" aria-hidden="true" />;
}

function skip(event: React.MouseEvent) {
  event.preventDefault();
  document.getElementById("content")?.focus();
}
