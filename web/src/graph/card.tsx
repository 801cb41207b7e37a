// One node as a card of DOM: text a screen reader and a selection can reach. Its size is fixed in card-size.ts.
import { type MouseEvent, memo } from "react";
import type { Card } from "./card-size.ts";
import type { GraphNode, NodeState, Side } from "./model.ts";

export interface CardActions {
  select(id: string): void;
  root(id: string): void;
  field(id: string, field: string): void;
  hoverNode(id: string | null): void;
  hoverField(id: string, field: string | null): void;
  more(id: string): void;
  hidden(id: string, side: Side): void;
  fold(id: string): void;
}

interface Props {
  node: GraphNode;
  card: Card;
  x: number;
  y: number;
  isRoot: boolean;
  isSelected: boolean;
  isCurrent: boolean;
  /** Columns on the traced path; undefined when the node is not on it (or nothing is traced). */
  traced: ReadonlySet<string> | undefined;
  pinned: string | null;
  actions: CardActions;
}

export const cardElementId = (id: string) => `node-${id}`;

const STATE_WORDS: Record<NodeState, string> = {
  RUNNING: "running",
  COMPLETED: "completed",
  FAILED: "failed",
  ABORTED: "aborted",
  STALLED: "stalled",
  LOST: "lost",
  NEW: "new",
  OTHER: "other state",
};

export const NodeCard = memo(function NodeCard(props: Props) {
  const { node, card, actions } = props;
  const classes = ["card", node.kind];
  if (node.word) classes.push(`is-${node.word}`);
  if (node.folded > 0) classes.push("is-folded");
  if (props.isRoot) classes.push("is-root");
  if (props.isSelected) classes.push("is-selected");
  if (props.isCurrent) classes.push("is-current");
  if (props.traced) classes.push("is-traced");
  const state = node.state ? `, last run ${STATE_WORDS[node.state]}` : "";
  const unfold =
    node.word === "group" || node.word === "bundle"
      ? `Open the ${node.folded} of ${node.label}`
      : `Unfold the ${node.folded} jobs of ${node.label}`;
  return (
    <article
      id={cardElementId(node.id)}
      className={classes.join(" ")}
      style={{
        transform: `translate(${props.x}px, ${props.y}px)`,
        width: card.width,
        height: card.height,
        ...(node.tint ? { boxShadow: `inset 0 0 0 2px ${node.tint}` } : {}),
      }}
      data-card={node.id}
      aria-label={`${node.word ?? node.kind} ${node.title}`}
      onPointerEnter={() => actions.hoverNode(node.id)}
      onPointerLeave={() => actions.hoverNode(null)}
      onDoubleClick={() => actions.root(node.id)}
    >
      <button
        type="button"
        tabIndex={-1}
        className="card-head"
        title={node.title}
        aria-pressed={props.isSelected}
        onClick={() => actions.select(node.id)}
      >
        {node.kind === "job" ? <span className={`dot ${node.state?.toLowerCase() ?? "none"}`} /> : <DatasetMark />}
        <span className="card-text">
          <Label text={node.label} />
          <span className="card-detail">{node.detail}</span>
        </span>
        <span className="sr-only">
          {node.word ?? node.kind}
          {state}
        </span>
        {node.kind === "dataset" && node.tags.length > 0 && (
          <span className="card-tag" title={`tags: ${node.tags.join(", ")}`}>
            {node.tags[0]}
            {node.tags.length > 1 && ` +${node.tags.length - 1}`}
          </span>
        )}
      </button>
      {card.rows.length > 0 && (
        <div className="rows">
          {card.rows.map((i) => {
            const field = node.fields[i];
            const on = props.traced?.has(field.name);
            return (
              <button
                type="button"
                tabIndex={-1}
                key={i}
                className={`row${on ? " is-on" : ""}${props.pinned === field.name ? " is-pinned" : ""}`}
                data-field={field.name}
                title={`${field.name}${field.type ? ` ${field.type}` : ""}`}
                onPointerEnter={() => actions.hoverField(node.id, field.name)}
                onPointerLeave={() => actions.hoverField(node.id, null)}
                onClick={() => actions.field(node.id, field.name)}
                onDoubleClick={stop}
              >
                <span className="row-name">{field.name}</span>
                {field.tags.length > 0 && <span className="row-tag">{field.tags[0]}</span>}
                <span className="row-type">{field.type}</span>
              </button>
            );
          })}
          {card.expandable && (
            <button
              type="button"
              tabIndex={-1}
              className="row row-more"
              onClick={() => actions.more(node.id)}
              onDoubleClick={stop}
            >
              {card.folded > 0 ? `+ ${card.folded} more` : "fewer"}
            </button>
          )}
        </div>
      )}
      {node.folded > 0 && (
        <button
          type="button"
          tabIndex={-1}
          className="fold"
          aria-label={unfold}
          title={unfold}
          onClick={(event) => {
            event.stopPropagation();
            actions.fold(node.id);
          }}
          onDoubleClick={stop}
        >
          ▸{node.folded}
        </button>
      )}
      {node.hiddenUpstream > 0 && <Hidden node={node} side="upstream" actions={actions} />}
      {node.hiddenDownstream > 0 && <Hidden node={node} side="downstream" actions={actions} />}
    </article>
  );
});

function Hidden({ node, side, actions }: { node: GraphNode; side: Side; actions: CardActions }) {
  const count = side === "upstream" ? node.hiddenUpstream : node.hiddenDownstream;
  const label = `${count} more ${side} of ${node.label}`;
  return (
    <button
      type="button"
      tabIndex={-1}
      className={`more more-${side}`}
      aria-label={label}
      title={label}
      onClick={(event) => {
        event.stopPropagation();
        actions.hidden(node.id, side);
      }}
      onDoubleClick={stop}
    >
      +{count}
    </button>
  );
}

function stop(event: MouseEvent) {
  event.stopPropagation();
}

/** A long name loses its middle, because names differ at the end. */
function Label({ text }: { text: string }) {
  const cut = Math.max(text.lastIndexOf("."), text.lastIndexOf("/"));
  const tail = cut > 0 && text.length - cut < 22 ? text.slice(cut) : "";
  return (
    <span className="card-label">
      <span className="label-head">{tail ? text.slice(0, cut) : text}</span>
      {tail && <span className="label-tail">{tail}</span>}
    </span>
  );
}

function DatasetMark() {
  return (
    <svg className="mark" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="1.5" y="2.5" width="13" height="11" rx="1.5" />
      <path d="M1.5 6h13M6 6v7.5" />
    </svg>
  );
}
