// Keeps the view on the screen under a name, or lets it go again.
import { Popover } from "@mantine/core";
import { useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { Icon } from "./icon.tsx";
import { forgetView, savedViews, saveView } from "./saved-views.ts";

export function SaveView() {
  const [open, setOpen] = useState(false);
  const [, again] = useState(0);
  useRouterState({ select: (state) => state.location.href });
  const base = new URL(document.baseURI).pathname;
  const address = (location.pathname + location.search).slice(base.length);
  const saved = savedViews().find((one) => one.address === address);
  if (!address) return null;
  const word = saved ? `Saved as ${saved.name}: let it go` : "Save this view";
  return (
    <Popover opened={open} onChange={setOpen} shadow="md" position="bottom-end" trapFocus>
      <Popover.Target>
        <button
          type="button"
          className={`icon-button save-view${saved ? " is-on" : ""}`}
          aria-label={word}
          aria-expanded={open}
          title={word}
          onClick={() => {
            if (saved) {
              forgetView(address);
              again((n) => n + 1);
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
            const name = (new FormData(event.currentTarget).get("name") as string).trim();
            if (!name) return;
            saveView({ name, address });
            setOpen(false);
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
