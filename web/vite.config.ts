import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page is part of the Python package: it is built into the folder the server serves.
// `base: "./"` because a proxy may put the server under a sub-path.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../src/headwater/api/static",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 900,
  },
  worker: { format: "es" },
  server: {
    proxy: {
      "/api": process.env.HEADWATER_URL ?? "http://127.0.0.1:5000",
      "/auth": process.env.HEADWATER_URL ?? "http://127.0.0.1:5000",
    },
  },
});
