/** Builds the page: flat static files, within a budget. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Of JavaScript and CSS, then of everything: bytes, compressed. */
const CODE_BUDGET = 60 * 1024;
const BUDGET = 150 * 1024;

/** Their code and fonts are among the files. */
const INCLUDED = ["preact", "@preact/signals", "@fontsource-variable/inter", "@fontsource-variable/jetbrains-mono"];

function licenses(): Plugin {
  return {
    name: "licenses",
    generateBundle() {
      const texts = INCLUDED.map((name) => {
        const text = readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), "utf8");
        return `${name}\n\n${text}`;
      });
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: texts.join("\n\n") });
    },
  };
}

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
  plugins: [licenses(), budget()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // The protocol is read from its sources.
  resolve: { conditions: ["source"] },
  worker: { format: "es" },
  build: {
    target: "es2024",
    outDir: "dist/page",
    assetsDir: ".",
    // The page's policy lets in files only.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  logLevel: "warn",
});
