// The head of a page, its tabs, its sections: the same everywhere.
import type { ReactNode } from "react";
import { useEffect } from "react";
import { LimitedNotice } from "./limited-notice.tsx";

interface Props {
  title: string;
  /** Before the title: what kind of thing it is. */
  mark?: ReactNode;
  /** Beside the title. */
  beside?: ReactNode;
  /** Under the title, one line. */
  lede?: ReactNode;
  tabs?: ReactNode;
  children: ReactNode;
}

export function Page({ title, mark, beside, lede, tabs, children }: Props) {
  useEffect(() => {
    document.title = `${title.slice(0, 80)} · Headwater`;
  }, [title]);
  return (
    <main className="page">
      <header className="page-head">
        <div className="page-title">
          {mark}
          <h1>{title}</h1>
          {beside}
        </div>
        {lede && <div className="lede">{lede}</div>}
      </header>
      <LimitedNotice />
      {tabs}
      <div className="page-body">{children}</div>
    </main>
  );
}

export function Section({ title, beside, children }: { title: string; beside?: ReactNode; children: ReactNode }) {
  return (
    <section className="section">
      <h2>
        {title}
        {beside && <span className="beside">{beside}</span>}
      </h2>
      {children}
    </section>
  );
}

/** Name and value pairs; values that are null, undefined or false are left out with their names. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return (
    <span className="tags">
      {tags.map((tag) => (
        <span className="tag" key={tag} title={tag}>
          {tag}
        </span>
      ))}
    </span>
  );
}
