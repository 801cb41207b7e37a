// The tabs of a page. On a narrow screen they are a strip that moves: the one that is open is brought into view.
import { type ReactNode, useLayoutEffect, useRef } from "react";

export function TabBar({ label, children }: { label: string; children: ReactNode }) {
  const bar = useRef<HTMLElement>(null);
  const shown = useRef<Element | null>(null);
  useLayoutEffect(() => {
    const open = bar.current!.querySelector<HTMLElement>("[aria-current]");
    if (open === shown.current) return;
    shown.current = open;
    if (open) bar.current!.scrollLeft = open.offsetLeft - (bar.current!.clientWidth - open.offsetWidth) / 2;
  });
  return (
    <nav ref={bar} className="tabs" aria-label={label}>
      {children}
    </nav>
  );
}
