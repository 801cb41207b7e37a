import { navigate } from "../url.ts";

export function CloseButton() {
  return (
    <button
      type="button"
      className="icon-button"
      aria-label="Close the panel"
      title="Close (Esc)"
      onClick={() => navigate({ selected: null, tab: null, run: null, field: null })}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M4 4l8 8M12 4l-8 8" />
      </svg>
    </button>
  );
}
