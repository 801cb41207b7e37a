import { Facets } from "../../parts/facets.tsx";
import { Section } from "../../parts/page.tsx";
import type { TabProps } from "./tab-props.ts";

export function RawTab({ dataset }: TabProps) {
  return (
    <Section title="Facets, as they came">
      <Facets facets={dataset.facets} />
    </Section>
  );
}
