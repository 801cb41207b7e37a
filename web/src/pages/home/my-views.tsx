// The saved views that a reader has: their own, everyone's, and this browser's.
import { type Keep, useViews } from "../../frame/use-views.ts";
import { Section } from "../../parts/page.tsx";
import { Subscribe } from "../../parts/subscribe.tsx";

const KEPT: Record<Keep, string> = { me: "yours", everyone: "everyone's", browser: "in this browser" };

export function MyViews() {
  const { views, remove, mayRemove } = useViews();
  if (views.length === 0) return null;
  return (
    <Section title="Saved views">
      <ul className="list" aria-label="Saved views">
        {views.map((view) => (
          <li key={`${view.keep} ${view.name} ${view.address}`}>
            <a className="name" href={new URL(view.address, document.baseURI).href} title={view.address}>
              {view.name}
            </a>
            <small className="soft" title={view.author ? `saved by ${view.author}` : undefined}>
              {KEPT[view.keep]}
            </small>
            {view.keep !== "browser" && <Subscribe id={`view:${view.name}`} />}
            {mayRemove(view) && (
              <button
                type="button"
                className="plain"
                aria-label={`Remove the view ${view.name}`}
                onClick={() => void remove(view)}
              >
                ×
              </button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
