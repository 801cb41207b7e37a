// The panel beside the drawing: its buttons, the way to close it, its title. What it says is its caller's.
import type { ReactNode } from "react";
import { Icon } from "../../frame/icon.tsx";

interface Props {
  label?: string;
  title: ReactNode;
  /** The whole name, for the tooltip. */
  whole?: string;
  buttons?: ReactNode;
  /** After the title. */
  beside?: ReactNode;
  close(): void;
  children: ReactNode;
}

export function Details({ label = "Details", title, whole, buttons, beside, close, children }: Props) {
  return (
    <aside className="inspector" aria-label={label}>
      <header>
        <div className="buttons">
          {buttons}
          <button
            type="button"
            className="icon-button close"
            aria-label="Close the details"
            title="Close (Esc)"
            onClick={close}
          >
            <Icon name="close" />
          </button>
        </div>
        <h2 className="name wraps" title={whole}>
          {title}
        </h2>
        {beside}
      </header>
      {children}
    </aside>
  );
}
