// The layout off the main thread, so that a large graph never stops a pan or a keystroke.
import { type LayoutInput, layOut } from "./layout.ts";

export interface LayoutRequest {
  ticket: number;
  input: LayoutInput;
}

addEventListener("message", (event: MessageEvent<LayoutRequest>) => {
  const layout = layOut(event.data.input);
  postMessage({ ticket: event.data.ticket, layout });
});
