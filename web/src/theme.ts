// Light or dark: the address says, else what was chosen last, else what the system prefers.
import { createTheme, type MantineColorsTuple } from "@mantine/core";
import { useColorScheme } from "@mantine/hooks";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Theme } from "./search-params.ts";

const water: MantineColorsTuple = [
  "#e3f5f7",
  "#cbe9ee",
  "#9bd3dd",
  "#67bccb",
  "#3fa8bb",
  "#249cb1",
  "#0f8ea3",
  "#0b7285",
  "#095c6c",
  "#064653",
];

// Mantine's dark greys, in the tint of tokens.css.
const dark: MantineColorsTuple = [
  "#e2ebe8",
  "#c3d0cc",
  "#98a9a5",
  "#6c7f7b",
  "#2e3c40",
  "#243034",
  "#172124",
  "#121b1d",
  "#0e1517",
  "#0a1011",
];

export const mantineTheme = createTheme({
  colors: { water, dark },
  primaryColor: "water",
  primaryShade: { light: 7, dark: 5 },
  fontFamily: "var(--sans)",
  fontFamilyMonospace: "var(--mono)",
  defaultRadius: 6,
  respectReducedMotion: true,
  cursorType: "pointer",
});

const STORED = "headwater.theme";

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(STORED);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // storage may be forbidden; the page works without
  }
}

export function useTheme(): { theme: Theme; toggle(): void } {
  const system = useColorScheme("light", { getInitialValueInEffect: false });
  const navigate = useNavigate();
  const asked = useSearch({ strict: false, select: (search) => search.theme });
  const theme = asked ?? stored() ?? (system === "dark" ? "dark" : "light");
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(STORED, next);
    } catch {
      // not remembered then
    }
    void navigate({ to: ".", search: (now) => ({ ...now, theme: next }), replace: true });
  };
  return { theme, toggle };
}
