// The label under the pointer, of a card too small to read or of an edge.
export interface FarLabelProps {
  lines: readonly string[];
  x: number;
  y: number;
  /** Of the canvas: in its right half the label stands to the left of the pointer. */
  width: number;
}

export function FarLabel({ lines, x, y, width }: FarLabelProps) {
  return (
    <div
      className="far-label"
      style={x > width / 2 ? { right: width - x + 14, top: y + 14 } : { left: x + 14, top: y + 14 }}
    >
      {lines.map((line, i) => (
        <div key={i} className={i === 0 ? "name" : "soft"}>
          {line}
        </div>
      ))}
    </div>
  );
}
