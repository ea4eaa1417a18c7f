import { defineConfig } from "@radical/cli";

export default defineConfig({
  name: "images",
  // Of page/ the build makes page.js and page.css in public/.
  assets: { page: "page/page.ts" },
  // Of one picture: 5 MB. The page says so too.
  blobs: { maxBytes: 5_000_000 },
});
