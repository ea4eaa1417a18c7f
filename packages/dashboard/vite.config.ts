/** Builds the page: flat static files, within a budget. */
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Of JavaScript and CSS, then of everything: bytes, compressed. */
const CODE_BUDGET = 60 * 1024;
const BUDGET = 150 * 1024;

function budget(): Plugin {
  return {
    name: "budget",
    generateBundle(_options, bundle) {
      let code = 0;
      let all = 0;
      for (const [name, part] of Object.entries(bundle)) {
        const content = part.type === "chunk" ? part.code : part.source;
        const bytes = name.endsWith(".woff2") ? content.length : gzipSync(content).length;
        all += bytes;
        if (/\.(js|css)$/.test(name)) code += bytes;
      }
      if (code > CODE_BUDGET) this.error(`JavaScript and CSS have ${code} bytes compressed; at most ${CODE_BUDGET}`);
      if (all > BUDGET) this.error(`all files have ${all} bytes compressed; at most ${BUDGET}`);
      this.info(`${(code / 1024).toFixed(1)} KB of code, ${(all / 1024).toFixed(1)} KB of all, compressed`);
    },
  };
}

export default defineConfig({
  plugins: [budget()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // The protocol is read from its sources.
  resolve: { conditions: ["source"] },
  worker: { format: "es" },
  build: {
    target: "es2024",
    assetsDir: ".",
    // The page's policy lets in files only.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  logLevel: "warn",
});
