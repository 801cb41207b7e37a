// What stands where an answer should: waiting, nothing, or trouble with a way on.
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiError } from "../api/client.ts";
import { exact } from "../format.ts";
import { Copy } from "./copy.tsx";

export function Message({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="message" role="status">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Nothing there, and the command that brings something. */
export function Empty({ title, command, children }: { title: string; command?: string; children?: ReactNode }) {
  return (
    <div className="empty" role="status">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <span className="command">
      <code tabIndex={0}>{text}</code>
      <Copy text={text} what="the command" />
    </span>
  );
}

export function Trouble({ error, retry }: { error: unknown; retry(): void }) {
  const known = error instanceof ApiError ? error : null;
  const firstSeen = known?.detail.first_seen;
  if (typeof firstSeen === "string") return <NotYet since={firstSeen} />;
  if (known?.status === 403 && Array.isArray(known.detail.limits)) return <BeyondLimits limits={known.detail.limits} />;
  const title = known?.unreachable
    ? "The server does not answer"
    : known?.passing
      ? "This cannot be answered now"
      : known?.status === 404
        ? "Not found"
        : known?.status === 401
          ? "Sign in to see this"
          : known?.status === 403
            ? "You may not see this"
            : "This question could not be answered";
  return (
    <div className="message" role="alert">
      <h2>{title}</h2>
      <p>
        {known?.unreachable
          ? "Headwater is not reachable at this address. It may be restarting."
          : error instanceof Error
            ? error.message
            : String(error)}
      </p>
      <Button size="xs" variant="light" onClick={retry}>
        Try again
      </Button>{" "}
      {known?.status === 404 && (
        <Link className="button quiet" to="/catalogue/$kind" params={{ kind: "datasets" }}>
          Look in the catalogue
        </Link>
      )}
    </div>
  );
}

/** An answer about all datasets, to a reader who may see some. */
function BeyondLimits({ limits }: { limits: readonly unknown[] }) {
  return (
    <div className="message" role="alert">
      <h2>This is about all datasets</h2>
      <p>
        Your key may see {limits.join(", ")} only, and this answer cannot be cut down to that. Ask an admin for a key
        without limits, which this command makes:
      </p>
      <Command text="headwater server keys create NAME --role read" />
    </div>
  );
}

/** As of a time before the first event about it. */
function NotYet({ since }: { since: string }) {
  const at = new Date(Date.parse(since) + 1000).toISOString().replace(/\.\d+Z$/, "Z");
  return (
    <div className="message" role="status">
      <h2>It was not known yet at that time</h2>
      <p>The first event about it is of {exact(since)}.</p>
      <Link className="button" to="." search={(now) => ({ ...now, asOf: at })}>
        Go to its first event
      </Link>{" "}
      <Link className="button quiet" to="." search={(now) => ({ ...now, asOf: undefined })}>
        Back to now
      </Link>
    </div>
  );
}
