// What each list of the catalogue asks first, from its address: the same for the list and for the route, which asks while
// the list's code is still on its way.
import { askAhead } from "../../api/queries.ts";
import { type catalogue, PAGE } from "../../search-params.ts";

export type ListSearch = ReturnType<typeof catalogue>;

const pageOf = ({ page = 1 }: ListSearch) => ({ limit: PAGE, offset: (page - 1) * PAGE });

export const narrowedDatasets = ({ q, namespace, platform, tag, owner, trait, sort, order }: ListSearch) => ({
  q,
  namespace,
  platform,
  tag,
  owner,
  trait,
  sort,
  order,
});
export const datasetsPage = (search: ListSearch) => ({ query: { ...narrowedDatasets(search), ...pageOf(search) } });

/** Words, tags, owners and traits are looked for in every job: then a parent does not stand for its children. */
export const areJobsFolded = ({ fold, q, tag, owner, trait, parent }: ListSearch) =>
  fold !== "none" && !q && !tag && !owner && !trait && !parent;
export const narrowedJobs = (search: ListSearch) => {
  const { q, namespace, tag, owner, trait, sort, order } = search;
  return { q, namespace, tag, owner, trait, sort, order, parent: areJobsFolded(search) ? "none" : search.parent };
};
export const jobsPage = (search: ListSearch) => ({ query: { ...narrowedJobs(search), ...pageOf(search) } });

/** A state or a label is looked for in every run: then a run does not stand for those that are part of it. */
export const areRunsFolded = ({ fold, state, stalled, label, parent }: ListSearch) =>
  fold !== "none" && !state && !stalled && !label && !parent;
export const runsPage = (search: ListSearch) => {
  const { state, stalled, label } = search;
  const parent = areRunsFolded(search) ? "none" : search.parent;
  return { query: { state, label, stalled: stalled ?? false, parent, ...pageOf(search) } };
};

export function askListAhead(kind: string, search: ListSearch) {
  if (kind === "datasets") askAhead("/api/v2/datasets", datasetsPage(search));
  else if (kind === "jobs") askAhead("/api/v2/jobs", jobsPage(search));
  else if (kind === "runs") askAhead("/api/v2/runs", runsPage(search));
}
