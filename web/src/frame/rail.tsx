// Where one can go: words beside icons, at the left; on a phone a bar of five at the bottom, the rest behind "More".
import { Link, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { Icon, type IconName } from "./icon.tsx";

interface Place {
  icon: IconName;
  word: string;
  to: string;
  params?: Record<string, string>;
  /** Other paths that belong here. */
  also?: readonly string[];
}

const PLACES: readonly Place[] = [
  { icon: "home", word: "Home", to: "/" },
  {
    icon: "catalogue",
    word: "Catalogue",
    to: "/catalogue/$kind",
    params: { kind: "datasets" },
    also: ["/catalogue", "/datasets", "/jobs", "/columns", "/schedules"],
  },
  { icon: "graph", word: "Lineage", to: "/lineage" },
  { icon: "runs", word: "Runs", to: "/catalogue/$kind", params: { kind: "runs" }, also: ["/runs", "/catalogue/runs"] },
  { icon: "incidents", word: "Incidents", to: "/incidents" },
  { icon: "alerts", word: "Alerts", to: "/alerting/{-$tab}", also: ["/alerting", "/alerts"] },
  { icon: "plans", word: "Plans", to: "/plans" },
  { icon: "changes", word: "Changes", to: "/changes" },
  { icon: "usage", word: "Usage", to: "/usage/{-$tab}" },
  { icon: "privacy", word: "Privacy", to: "/privacy" },
  { icon: "whatif", word: "What if", to: "/whatif", also: ["/whatif", "/review"] },
  { icon: "trace", word: "Trace", to: "/trace" },
  { icon: "events", word: "Events", to: "/events/{-$tab}", also: ["/receipts"] },
  { icon: "settings", word: "Settings", to: "/settings/{-$tab}" },
];
const ON_A_PHONE = 4;

function belongs(path: string, place: Place): boolean {
  const own = place.to.replace(/\/\{?-?\$.*$/, "") || "/";
  if (own === "/") return path === "/";
  return [...(place.also ?? [own])].some((start) => path === start || path.startsWith(`${start}/`));
}

export function Rail() {
  const path = useRouterState({ select: (state) => state.location.pathname.replace(/\/$/, "") || "/" });
  const [more, setMore] = useState(false);
  // The longest match counts: the runs of the catalogue are Runs.
  const here = PLACES.filter((place) => belongs(path, place)).at(path.startsWith("/catalogue/runs") ? -1 : 0);
  return (
    <nav className={`rail${more ? " is-open" : ""}`} aria-label="Main">
      {PLACES.map((place, i) => (
        <Link
          key={place.word}
          to={place.to as "/"}
          params={(place.params ?? { tab: undefined }) as never}
          className={`place${place === here ? " is-here" : ""}${i >= ON_A_PHONE ? " is-minor" : ""}`}
          activeOptions={{ exact: true }}
          aria-current={place === here ? "page" : undefined}
          onClick={() => setMore(false)}
        >
          <Icon name={place.icon} />
          <span>{place.word}</span>
        </Link>
      ))}
      <button type="button" className="place rail-more" aria-expanded={more} onClick={() => setMore((was) => !was)}>
        <Icon name="more" />
        <span>More</span>
      </button>
    </nav>
  );
}
