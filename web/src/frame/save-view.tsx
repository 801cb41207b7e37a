// Keeps the view on the screen under a name, for oneself or for everyone, or removes it.
import { Popover } from "@mantine/core";
import { useRouterState } from "@tanstack/react-router";
import { memo, useState } from "react";
import { Icon } from "./icon.tsx";
import { type Keep, useViews, type View } from "./use-views.ts";

/** What stands after the page's base in the address bar. */
const addressNow = () => (location.pathname + location.search).slice(new URL(document.baseURI).pathname.length);

export function SaveView() {
  const { views, save, remove, mayRemove, choices } = useViews();
  useRouterState({ select: (state) => state.location.href });
  const address = addressNow();
  if (!address) return null;
  // One's own before everyone's.
  const saved = views.findLast((one) => one.address === address) ?? null;
  return (
    <Star
      saved={saved}
      mayRemove={saved !== null && mayRemove(saved)}
      choices={choices.join(" ")}
      save={save}
      remove={remove}
    />
  );
}

interface Props {
  saved: View | null;
  mayRemove: boolean;
  /** Of `Keep`, with blanks between. */
  choices: string;
  save(view: Omit<View, "author">): Promise<void>;
  remove(view: View): Promise<void>;
}

const WORDS: Record<Keep, string> = { me: "me", everyone: "everyone", browser: "this browser" };

/** Drawn anew only when the view becomes a saved one, or none: not at each navigation. */
const Star = memo(function Star({ saved, mayRemove, choices, save, remove }: Props) {
  const [open, setOpen] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const kept = choices.split(" ") as Keep[];
  const word = saved
    ? `Saved as ${saved.name} for ${WORDS[saved.keep]}${mayRemove ? ": remove it" : ""}`
    : "Save this view";
  const tell = (error: unknown) => setTrouble(error instanceof Error ? error.message : String(error));
  return (
    <Popover opened={open} onChange={setOpen} shadow="md" position="bottom-end" trapFocus>
      <Popover.Target>
        <button
          type="button"
          className={`icon-button save-view${saved ? " is-on" : ""}`}
          aria-label={word}
          aria-expanded={open}
          title={trouble ?? word}
          onClick={() => {
            setTrouble(null);
            if (saved && mayRemove) void remove(saved).catch(tell);
            else if (!saved) setOpen(!open);
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
            const given = new FormData(event.currentTarget);
            const name = (given.get("name") as string).trim();
            const keep = (given.get("keep") as Keep | null) ?? kept[0];
            if (name) save({ name, address: addressNow(), keep }).then(() => setOpen(false), tell);
          }}
        >
          <label>
            Save this view as
            <input name="name" maxLength={80} defaultValue={document.title.replace(/ · Headwater$/, "")} />
          </label>
          {kept.length > 1 && (
            <label>
              For
              <select name="keep">
                {kept.map((one) => (
                  <option key={one} value={one}>
                    {WORDS[one]}
                  </option>
                ))}
              </select>
            </label>
          )}
          {trouble && <p role="alert">{trouble}</p>}
          <button type="submit" className="button">
            Save
          </button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
});
