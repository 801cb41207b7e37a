import { useClipboard } from "@mantine/hooks";

/** Copies a text; says so to the eye and to a screen reader. */
export function Copy({ text, what }: { text: string; what: string }) {
  const clipboard = useClipboard({ timeout: 1500 });
  const label = clipboard.copied ? "Copied" : `Copy ${what}`;
  return (
    <button
      type="button"
      className="copy"
      aria-label={label}
      title={label}
      onClick={(event) => {
        event.preventDefault();
        event.stopPropagation();
        clipboard.copy(text);
      }}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {clipboard.copied ? <path d="M3 8.5l3.2 3.2L13 5" /> : <path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" />}
      </svg>
    </button>
  );
}
