const PATHS = {
  home: "M2.5 7.5 8 2.5l5.5 5M4 6.5v7h8v-7",
  catalogue: "M2.5 3h11v3h-11zM2.5 8h11M2.5 11h11M2.5 14h7",
  graph: "M2 4h3v3H2zM11 2h3v3h-3zM11 11h3v3h-3zM5 5.5h3V3.5h3M8 5.5v7h3",
  runs: "M2 4h6M5 8h7M8 12h6",
  incidents: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 11.7v.3",
  alerts: "M8 2a4 4 0 0 0-4 4v3l-1.5 2.5h11L12 9V6a4 4 0 0 0-4-4M6.5 13.5a1.6 1.6 0 0 0 3 0",
  plans: "M3 2.5h10v11H3zM5.5 6l1 1 1.5-2M5.5 10l1 1 1.5-2M10 6.5h1.5M10 10.5h1.5",
  changes: "M8 2v5h4M8 14A6 6 0 1 1 14 8",
  usage: "M2.5 13.5v-5h2.5v5M6.8 13.5v-9h2.5v9M11 13.5v-7h2.5v7",
  privacy: "M8 1.8 13 4v4c0 3-2 5.2-5 6.2-3-1-5-3.2-5-6.2V4zM5.8 8l1.6 1.6L10.3 6.5",
  whatif: "M3 2.5v11M3 8h5l4-4.5M12 3.5H9.2M12 3.5v2.8M8 8l4 4.5M12 12.5H9.2M12 12.5V9.7",
  trace: "M4 2h5l3 3v9H4zM6 8h4M6 11h4",
  events: "M2 8h3l2-5 3 10 2-5h2",
  settings:
    "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5 14 14",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.8A6 6 0 1 1 6.2 2.5a4.8 4.8 0 0 0 7.3 7.3Z",
  star: "M8 1.8l1.9 4 4.4.5-3.3 3 .9 4.4L8 11.5l-3.9 2.2.9-4.4-3.3-3 4.4-.5z",
  close: "M4 4l8 8M12 4l-8 8",
  more: "M3 8h.01M8 8h.01M13 8h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
