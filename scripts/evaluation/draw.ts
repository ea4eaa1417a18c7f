/** The first half of `pnpm bench:report`: draws the pictures of `benchmarks/results`. The pages are written by `pnpm docs:reference`. */
import { globSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { drawChart } from "./chart.ts";
import { chartsOf } from "./pictures.ts";
import { readResults, RESULTS_FOLDER } from "./results.ts";

for (const file of globSync("*.svg", { cwd: RESULTS_FOLDER })) rmSync(path.join(RESULTS_FOLDER, file));
for (const [name, chart] of chartsOf(readResults(RESULTS_FOLDER))) {
  writeFileSync(path.join(RESULTS_FOLDER, `${name}.svg`), drawChart(chart));
  console.log(`benchmarks/results/${name}.svg`);
}
