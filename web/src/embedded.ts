// Whether the page is in a frame of another one: below `embed/`, where the server lets only the graph, a dataset and the status be shown.
const root = () => new URL(document.baseURI).pathname;

export const isEmbedded = typeof document !== "undefined" && location.pathname.startsWith(`${root()}embed/`);

/** Where the router's paths begin. */
export const basePath = () => (isEmbedded ? `${root()}embed/` : root());

/** The same address outside of the frame. */
export const unframed = () => location.href.replace(`${root()}embed/`, root());

/** The paths that may be shown in a frame; api/page.py has the same. */
export const mayEmbed = (path: string) => /^\/((lineage|datasets)\/.|status$)/.test(path);
