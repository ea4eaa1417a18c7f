/** `pnpm docs:reference`: writes the parts of the pages that are made from the code, and the pictures. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { withGenerated } from "./generated.ts";
import { DOCS, generatedPages, pictures, readPage } from "./pages.ts";
import { drawPicture } from "./picture.ts";
import { SOURCES } from "./sources.ts";

for (const page of generatedPages()) {
  const before = readPage(page);
  const after = withGenerated(before, SOURCES);
  if (after === before) continue;
  writeFileSync(path.join(DOCS, page), after);
  console.log(path.join("docs", page));
}
for (const { file, source } of pictures()) writeFileSync(file, drawPicture(source));
