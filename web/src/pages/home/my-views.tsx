// The views that this browser keeps.
import { useState } from "react";
import { forgetView, savedViews } from "../../frame/saved-views.ts";
import { Section } from "../../parts/page.tsx";

export function MyViews() {
  const [views, setViews] = useState(savedViews);
  if (views.length === 0) return null;
  return (
    <Section title="Saved views" beside="kept in this browser">
      <ul className="list" aria-label="Saved views">
        {views.map(({ name, address }) => (
          <li key={address}>
            <a className="name" href={new URL(address, document.baseURI).href} title={address}>
              {name}
            </a>
            <button
              type="button"
              className="plain"
              aria-label={`Let the view ${name} go`}
              onClick={() => setViews(forgetView(address))}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
