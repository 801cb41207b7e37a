// One answer, in each of its states: on its way, refused, or there. `children` draws it when it is there.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Trouble } from "./message.tsx";
import { Waiting } from "./waiting.tsx";

export function Answered<T>({
  of,
  lines = 4,
  children,
}: {
  of: UseQueryResult<T>;
  lines?: number;
  children(answer: T): ReactNode;
}) {
  if (of.data === undefined)
    return of.error ? <Trouble error={of.error} retry={() => void of.refetch()} /> : <Waiting lines={lines} />;
  return (
    <>
      {of.error && (
        <p className="stale" role="alert">
          {of.error.message} What is shown may be out of date.{" "}
          <button type="button" className="plain" onClick={() => void of.refetch()}>
            Try again
          </button>
        </p>
      )}
      {children(of.data)}
    </>
  );
}
