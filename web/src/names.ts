// Names that set things apart: as many segments as are needed among what is on the screen, and never more.

export interface Named {
  id: string;
  /** What the server calls it for short; else the last segment of its name. */
  label?: string;
}

interface Candidate {
  id: string;
  kind: string;
  text: string;
  /** Where the label begins in `text`. */
  from: number;
  dots: boolean;
}

/** The part of a node id that names it, without its kind. */
export const bareName = (id: string) => id.replace(/^[a-z]+:/, "");

/** The scheme of a namespace, or what stands for it: `s3` of `s3://bucket`, `file` of `file`. */
export const platformOf = (namespace: string) => namespace.split(":", 1)[0];

/**
 * Returns a label for each node: its last segment, with as many segments before it as set it apart from the other nodes
 * of its kind. Names that are equal to their beginnings keep their whole name.
 */
export function distinguish(nodes: Iterable<Named>): Map<string, string> {
  const all: Candidate[] = [];
  const seen = new Set<string>();
  for (const node of nodes) {
    if (seen.has(node.id)) continue;
    seen.add(node.id);
    all.push(candidate(node));
  }
  let crowd = group(all).filter((same) => same.length > 1);
  while (crowd.length) {
    const again: Candidate[] = [];
    for (const same of crowd) {
      let moved = false;
      for (const one of same) if (extend(one)) moved = true;
      if (moved) again.push(...same);
    }
    crowd = group(again).filter((same) => same.length > 1);
  }
  return new Map(all.map((one) => [one.id, labelOf(one)]));
}

function candidate({ id, label }: Named): Candidate {
  const text = bareName(id).replace(/\/+$/, "");
  const wanted = label?.replace(/\/+$/, "");
  const from = wanted && text.endsWith(wanted) ? text.length - wanted.length : lastSegment(text, id.startsWith("job:"));
  const one = { id, kind: id.slice(0, id.indexOf(":")), text, from, dots: text[from - 1] === "." };
  // A number alone names nothing: `dashboard/7`, not `7`.
  if (/^\d+$/.test(text.slice(from))) extend(one);
  return one;
}

function lastSegment(text: string, job: boolean): number {
  const cut = Math.max(text.lastIndexOf("/"), text.lastIndexOf(":"));
  if (job || text.includes("/", text.indexOf("://") + 3)) return cut + 1;
  return Math.max(cut, text.lastIndexOf(".")) + 1;
}

/** Takes in one segment more on the left; false when the whole name is in. */
function extend(one: Candidate): boolean {
  let at = one.from - 1;
  while (at > 0 && isBorder(one.text[at - 1], one.dots) && isBorder(one.text[at], one.dots)) at--;
  if (at <= 0) {
    const grew = one.from > 0;
    one.from = 0;
    return grew;
  }
  while (at > 0 && !isBorder(one.text[at - 1], one.dots)) at--;
  one.from = at;
  return true;
}

const isBorder = (sign: string, dots: boolean) => sign === "/" || sign === ":" || (dots && sign === ".");

const labelOf = (one: Candidate) => one.text.slice(one.from) || one.text;

function group(all: readonly Candidate[]): Candidate[][] {
  const byLabel = new Map<string, Candidate[]>();
  for (const one of all) {
    const key = `${one.kind} ${labelOf(one)}`;
    const same = byLabel.get(key);
    if (same) same.push(one);
    else byLabel.set(key, [one]);
  }
  return [...byLabel.values()];
}
