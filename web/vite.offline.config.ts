import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// A page that is one file: script, styles and the layout's worker stand in it, and it asks nothing of any server.
const worker: Plugin = {
  name: "worker-in-the-script",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/graph/use-scene.ts")) return null;
    const asked = /new Worker\(new URL\("\.\/layout\.worker\.ts", import\.meta\.url\), \{ type: "module" \}\)/;
    if (!asked.test(code))
      throw new Error("use-scene.ts starts its worker otherwise than vite.offline.config.ts expects");
    return `import LayoutWorker from "./layout.worker.ts?worker&inline";\n${code.replace(asked, "new LayoutWorker()")}`;
  },
};

const oneFile: Plugin = {
  name: "one-file",
  enforce: "post",
  generateBundle(_, bundle) {
    const page = bundle["offline.html"];
    if (page?.type !== "asset") throw new Error("the page was not built");
    let html = String(page.source);
    for (const [name, part] of Object.entries(bundle)) {
      if (part === page) continue;
      if (part.type === "chunk") {
        const script = part.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
        html = html.replace(/<script type="module"[^>]*src="[^"]*"[^>]*><\/script>/, "");
        html = html.replace("</body>", () => `<script type="module">${script}</script></body>`);
      } else {
        html = html.replace(/<link rel="stylesheet"[^>]*>/, "");
        html = html.replace("</head>", () => `<style>${String(part.source)}</style></head>`);
      }
      delete bundle[name];
    }
    page.source = html;
  },
};

export default defineConfig({
  base: "./",
  publicDir: false,
  plugins: [worker, react(), oneFile],
  build: {
    outDir: "../src/headwater/api/static/offline",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    rollupOptions: { input: "offline.html" },
  },
});
