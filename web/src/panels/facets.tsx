// Facets as they came: nothing a producer said is out of sight, understood or not.
export function Facets({ facets, title }: { facets: Record<string, unknown> | null; title?: string }) {
  const names = Object.keys(facets ?? {}).sort();
  if (names.length === 0) return title ? null : <p className="soft">No facets were reported.</p>;
  return (
    <section>
      {title && <h3>{title}</h3>}
      {names.map((name) => (
        <details className="facet" key={name}>
          <summary>{name}</summary>
          <pre>{JSON.stringify(facets?.[name], null, 2)}</pre>
        </details>
      ))}
    </section>
  );
}
