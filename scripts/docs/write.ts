/** `pnpm docs:reference`: writes the parts of the pages that are made from the code, and the pictures. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { withGenerated } from "./generated.ts";
import { DOCS, generatedPages, readPage } from "./pages.ts";
import { drawnPictures } from "./pictures.ts";
import { SOURCES } from "./sources.ts";

for (const page of generatedPages()) {
  const before = readPage(page);
  const after = withGenerated(before, SOURCES);
  if (after === before) continue;
  writeFileSync(path.join(DOCS, page), after);
  console.log(path.join("docs", page));
}
for (const { file, svg } of drawnPictures()) writeFileSync(file, svg);
