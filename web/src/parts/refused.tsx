// Why the server refused a change.
export function Refused({ error }: { error: Error | null }) {
  return error ? (
    <p className="refused" role="alert">
      {error.message}
    </p>
  ) : null;
}
