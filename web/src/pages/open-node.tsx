// A link to a node: a click stays on the page, a middle click or Ctrl-click opens a tab, as links do.
import type { MouseEvent, ReactNode } from "react";
import { href, navigate, type UrlState } from "../url.ts";

/** Everything that belonged to the node before is left behind. */
export const atNode = (id: string): Partial<UrlState> => ({
  node: id,
  selected: id,
  field: null,
  tab: null,
  run: null,
  q: "",
});

interface Props {
  patch: Partial<UrlState>;
  title?: string;
  className?: string;
  children: ReactNode;
}

export function PageLink({ patch, title, className, children }: Props) {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(patch);
  };
  return (
    <a href={href(patch)} title={title} className={className} onClick={open}>
      {children}
    </a>
  );
}
