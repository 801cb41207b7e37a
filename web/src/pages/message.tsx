// What stands where an answer should: waiting, nothing, or trouble with a way on.
import { Button } from "@mantine/core";
import { ApiError } from "../api/client.ts";

export function Message({ title, children }: { title: string; children?: React.ReactNode }) {
  return (
    <div className="message" role="status">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Trouble({ error, retry }: { error: unknown; retry(): void }) {
  const known = error instanceof ApiError ? error : null;
  const title = known?.unreachable
    ? "The server does not answer"
    : known?.status === 404
      ? "Not found"
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
      </Button>
    </div>
  );
}
