import { defineConfig } from "@radical/cli";

export default defineConfig({
  name: "hotel",
  // Of page/ the build makes page.js and page.css in public/.
  assets: { page: "page/page.ts" },
});
