// What the drawing knows: nodes, edges, column links. Where they come from is someone else's business.

export type NodeState = "RUNNING" | "COMPLETED" | "FAILED" | "ABORTED" | "STALLED" | "LOST" | "OTHER" | "NEW";

export interface GraphField {
  name: string;
  type: string | null;
  tags: readonly string[];
}

export interface GraphNode {
  id: string;
  /** Its shape; `word` says what it is, where that is not its shape's name. */
  kind: "dataset" | "job";
  word?: string;
  label: string;
  /** Second line of the card: a short namespace, or when the job last ran. */
  detail: string;
  /** The full name, for the tooltip and the screen reader. */
  title: string;
  fields: readonly GraphField[];
  tags: readonly string[];
  state: NodeState | null;
  /** A lens's colour, for the far view and the card's edge; null without one. */
  tint: string | null;
  /** A word for the lens's colour, on the card. */
  note: string | null;
  /** How many nodes this one stands for, when it is folded; 0 else. */
  folded: number;
  hop: number;
  hiddenUpstream: number;
  hiddenDownstream: number;
}

export interface GraphEdge {
  source: string;
  target: string;
  declared: boolean;
  /** How it is known, in the words of its source; absent: not known. */
  origins?: readonly string[];
  /** Only some of the job's latest runs reported it; absent: false. */
  intermittent?: boolean;
  /** Of two times compared: what became of it. */
  change: "added" | "gone" | "changed" | null;
  /** How many edges are drawn as this one; absent: itself alone. */
  count?: number;
}

/** A dependency of a column (or, with a null field, of the whole dataset or job). */
export interface ColumnLink {
  source: string;
  sourceField: string | null;
  target: string;
  targetField: string | null;
  job: string | null;
  indirect: boolean;
}

export interface Graph {
  root: string;
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  links: readonly ColumnLink[];
}

export interface FieldRef {
  node: string;
  field: string;
}

export type Side = "upstream" | "downstream";
