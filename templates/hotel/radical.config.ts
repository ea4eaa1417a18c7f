import { defineConfig } from "@radical/cli";

export default defineConfig({
  name: "hotel",
  // For the page: the build writes it into public/.
  assets: { client: "client.js" },
});
