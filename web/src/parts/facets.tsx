// Facets as they came: nothing a producer said is out of sight, understood or not.
export function Facets({ facets }: { facets: Record<string, unknown> | null | undefined }) {
  const names = Object.keys(facets ?? {}).sort();
  if (names.length === 0) return <p className="soft">No facets were reported.</p>;
  return names.map((name) => (
    <details className="facet" key={name}>
      <summary>{name}</summary>
      <pre>{JSON.stringify(facets?.[name], null, 2)}</pre>
    </details>
  ));
}
