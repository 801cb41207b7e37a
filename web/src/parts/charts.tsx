// Charts, loaded only where one is shown. Each is an image with a name; its values are in a table beside it or below.
import { AreaChart, BarChart } from "@mantine/charts";
import "@mantine/charts/styles.layer.css";

interface Point {
  at: string;
  value: number | null;
}

export function LineOf({ label, points, unit = "" }: { label: string; points: readonly Point[]; unit?: string }) {
  return (
    <figure className="chart" role="img" aria-label={label}>
      <AreaChart
        h={220}
        data={points as Point[]}
        dataKey="at"
        series={[{ name: "value", label, color: "var(--accent)" }]}
        curveType="linear"
        withDots={points.length < 60}
        unit={unit}
        gridAxis="y"
        areaProps={{ isAnimationActive: false }}
      />
    </figure>
  );
}

interface Bar {
  name: string;
  value: number;
}

export function BarsOf({ label, bars, unit = "" }: { label: string; bars: readonly Bar[]; unit?: string }) {
  return (
    <figure className="chart" role="img" aria-label={label}>
      <BarChart
        h={Math.max(bars.length * 30 + 30, 90)}
        data={bars as Bar[]}
        dataKey="name"
        orientation="vertical"
        yAxisProps={{ width: 170 }}
        series={[{ name: "value", label, color: "var(--accent)" }]}
        unit={unit}
        barProps={{ isAnimationActive: false }}
      />
    </figure>
  );
}
