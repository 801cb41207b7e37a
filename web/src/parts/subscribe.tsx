// Hear of this object, or of all that a selector names: a rule of one's own, on and off.
import { useAsk, useMe, useSend } from "../api/queries.ts";

export function Subscribe({ id }: { id: string }) {
  const me = useMe().data;
  // On a server without sign-in, and for a key that is no mail address, the command says where messages go.
  const personal = me !== undefined && me.name.includes("@");
  const list = useAsk("/api/v2/subscriptions", {}, { enabled: personal });
  const put = useSend("put", "/api/v2/subscriptions");
  const remove = useSend("delete", "/api/v2/subscriptions");
  if (!personal || !list.data) return null;
  const on = list.data.subscriptions.some((one) => one.selector === id);
  const error = put.error ?? remove.error;
  return (
    <button
      type="button"
      className="button quiet"
      aria-pressed={on}
      title={
        error?.message ??
        (on ? "You hear when it is late, wrong, failed or changed" : "Hear when it is late, wrong, failed or changed")
      }
      onClick={() => (on ? remove.mutate({ query: { selector: id } }) : put.mutate({ body: { selector: id } }))}
    >
      {on ? "Subscribed" : "Subscribe"}
    </button>
  );
}
