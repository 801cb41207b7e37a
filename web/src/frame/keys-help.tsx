import { Modal } from "@mantine/core";

const KEYS: readonly [keys: string, does: string][] = [
  ["/ or Ctrl K", "search, and go anywhere"],
  ["?", "these keys"],
  ["↑ ↓", "from row to row in a list; Enter opens"],
  ["← →", "in the graph: one step upstream, downstream"],
  ["↑ ↓", "in the graph: the node above, below"],
  ["Enter", "in the graph: open the node beside the graph"],
  ["Shift Enter", "in the graph: start from this node"],
  ["[ ]", "in the graph: show what is hidden upstream, downstream"],
  ["+ − f", "in the graph: nearer, farther, all of it"],
  ["t", "graph or table"],
  ["Esc", "close what is open"],
];

export function KeysHelp({ onClose }: { onClose(): void }) {
  return (
    <Modal opened onClose={onClose} title="Keys" closeButtonProps={{ "aria-label": "Close" }}>
      <dl className="keys">
        {KEYS.map(([keys, does], i) => (
          <div key={i}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
