// What this browser looked at last; nothing of it leaves the browser.
const KEY = "headwater.looked-at";
const MOST = 8;

export function lookedAt(): string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(value) ? value.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return []; // storage may be forbidden, or hold something else
  }
}

export function rememberLook(id: string) {
  try {
    localStorage.setItem(KEY, JSON.stringify([id, ...lookedAt().filter((one) => one !== id)].slice(0, MOST)));
  } catch {
    // not remembered then
  }
}
