// Beside the drawing: what a group stands for, and the click that opens it.
import { Icon } from "../../frame/icon.tsx";
import { NodeList } from "../../parts/node-link.tsx";
import { plural } from "../../format.ts";

interface Props {
  id: string;
  title: string;
  members: readonly string[];
  open(): void;
  close(): void;
}

/** A list longer than this is read in the group itself. */
const LISTED = 100;

export function GroupDetails({ id, title, members, open, close }: Props) {
  return (
    <aside className="inspector" aria-label="Details">
      <header>
        <div className="buttons">
          <button type="button" className="button" onClick={open}>
            Open the group
          </button>
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
        <h2 className="name wraps" title={id}>
          {title}
        </h2>
      </header>
      <h3>{plural(members.length, "member")}</h3>
      <NodeList ids={members.slice(0, LISTED)} none="" />
      {members.length > LISTED && <p className="soft">and {members.length - LISTED} more</p>}
    </aside>
  );
}
