import { defineConfig } from "@radical/cli";

export default defineConfig({
  name: "board",
});
