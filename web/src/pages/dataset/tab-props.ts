import type { Reference } from "../../api/queries.ts";
import type { Dataset } from "../../api/types.ts";

export interface TabProps {
  dataset: Dataset;
  reference: Reference;
  asOf: string | null;
}
