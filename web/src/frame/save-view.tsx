// Keeps the view on the screen under a name, or lets it go again.
import { Popover } from "@mantine/core";
import { useRouterState } from "@tanstack/react-router";
import { memo, useState } from "react";
import { Icon } from "./icon.tsx";
import { forgetView, savedViews, saveView } from "./saved-views.ts";

/** What stands after the page's base in the address bar. */
const addressNow = () => (location.pathname + location.search).slice(new URL(document.baseURI).pathname.length);

export function SaveView() {
  const [, again] = useState(0);
  useRouterState({ select: (state) => state.location.href });
  const address = addressNow();
  if (!address) return null;
  const name = savedViews().find((one) => one.address === address)?.name ?? null;
  return <Star name={name} onChange={() => again((n) => n + 1)} />;
}

/** Drawn anew only when the view becomes a saved one, or none: not at each navigation. */
const Star = memo(SaveButton, (was, is) => was.name === is.name);

function SaveButton({ name, onChange }: { name: string | null; onChange(): void }) {
  const [open, setOpen] = useState(false);
  const word = name !== null ? `Saved as ${name}: remove it` : "Save this view";
  return (
    <Popover opened={open} onChange={setOpen} shadow="md" position="bottom-end" trapFocus>
      <Popover.Target>
        <button
          type="button"
          className={`icon-button save-view${name !== null ? " is-on" : ""}`}
          aria-label={word}
          aria-expanded={open}
          title={word}
          onClick={() => {
            if (name !== null) {
              forgetView(addressNow());
              onChange();
            } else setOpen(!open);
          }}
        >
          <Icon name="star" />
        </button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className="as-of-form"
          onSubmit={(event) => {
            event.preventDefault();
            const chosen = (new FormData(event.currentTarget).get("name") as string).trim();
            if (!chosen) return;
            saveView({ name: chosen, address: addressNow() });
            setOpen(false);
            onChange();
          }}
        >
          <label>
            Save this view as
            <input name="name" maxLength={80} defaultValue={document.title.replace(/ · Headwater$/, "")} />
          </label>
          <button type="submit" className="button">
            Save
          </button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
