// Beside the drawing: what a group stands for, and the click that opens it.
import { NodeList } from "../../parts/node-link.tsx";
import { count, plural } from "../../format.ts";
import { Details } from "./details.tsx";

interface Props {
  id: string;
  /** What it is: a group by what its members share, or a bundle of what is alike. */
  word: string;
  title: string;
  members: readonly string[];
  open(): void;
  close(): void;
}

/** A list longer than this is read in the drawing itself. */
const LISTED = 100;

export function GroupDetails({ id, word, title, members, open, close }: Props) {
  return (
    <Details
      title={title}
      whole={id}
      buttons={
        <button type="button" className="button" onClick={open}>
          Open the {word}
        </button>
      }
      close={close}
    >
      <h3>{plural(members.length, "member")}</h3>
      <NodeList ids={members.slice(0, LISTED)} none="" />
      {members.length > LISTED && <p className="soft">and {count(members.length - LISTED)} more</p>}
    </Details>
  );
}
