// A change that a person thinks of, and those of a pull request.
import { Link } from "@tanstack/react-router";
import { TabBar } from "../../parts/tab-bar.tsx";

export function WhatIfTabs({ on }: { on: "change" | "review" }) {
  return (
    <TabBar label="Changes not made yet">
      <Link
        to="/whatif"
        className={`tab${on === "change" ? " is-on" : ""}`}
        activeOptions={{ exact: true }}
        aria-current={on === "change" ? "page" : undefined}
      >
        A change
      </Link>
      <Link
        to="/review"
        className={`tab${on === "review" ? " is-on" : ""}`}
        activeOptions={{ exact: true }}
        aria-current={on === "review" ? "page" : undefined}
      >
        A pull request
      </Link>
    </TabBar>
  );
}
