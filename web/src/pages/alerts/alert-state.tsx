// The state of an alert in one word.
import type { Answer } from "../../api/client.ts";
import { State } from "../../parts/state.tsx";

export type Alert = Answer<"/api/v2/alerts">["alerts"][number];

export const eventWords = (event: string) => event.replaceAll("_", " ");

export function AlertState({ alert }: { alert: Alert }) {
  if (alert.until) return <State state="fixed" word="over" />;
  if (alert.acknowledged_at) return <State state="running" word="acknowledged" />;
  if (alert.muted_until && Date.parse(alert.muted_until) > Date.now()) return <State state="paused" word="muted" />;
  return <State state="open" />;
}

export function messageCounts(alert: Alert) {
  const counts = new Map<string, number>();
  for (const { state } of alert.messages) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, n]) => `${n} ${state}`).join(", ");
}
