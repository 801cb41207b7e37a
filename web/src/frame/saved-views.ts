// Views that this browser keeps, for a reader whom the server cannot name: an address with a name. Every state of a page is in
// its address, so a saved view is a link. Views of a person and of everyone are on the server (use-views.ts).
export interface SavedView {
  name: string;
  /** Path and query below the page's base, without a leading slash. */
  address: string;
}

const KEY = "headwater.views";
const MOST = 50;

export function savedViews(): SavedView[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    if (!Array.isArray(value)) return [];
    return value.filter((one): one is SavedView => typeof one?.name === "string" && isOwn(one?.address)).slice(0, MOST);
  } catch {
    return []; // storage may be forbidden, or hold something else
  }
}

/** Only an address below this page: what another program wrote into the storage must not lead away. */
export function isOwn(address: unknown): address is string {
  const base = "http://page.invalid/base/";
  return typeof address === "string" && URL.canParse(address, base) && new URL(address, base).href.startsWith(base);
}

/** The newest first; an address that is saved again takes the new name. */
export function saveView(view: SavedView): SavedView[] {
  return store([view, ...savedViews().filter((one) => one.address !== view.address)].slice(0, MOST));
}

export const forgetView = (address: string) => store(savedViews().filter((one) => one.address !== address));

function store(views: SavedView[]): SavedView[] {
  try {
    localStorage.setItem(KEY, JSON.stringify(views));
  } catch {
    return savedViews(); // not kept then
  }
  return views;
}
