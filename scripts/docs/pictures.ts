/** The pictures of the documents that a program draws: sequences from lines of text, and the home page's from measurements. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { readResults, RESULTS_FOLDER } from "../evaluation/results.ts";
import { drawWait, waitOf } from "../evaluation/wait-picture.ts";
import { DOCS } from "./pages.ts";
import { drawPicture } from "./picture.ts";

export interface DrawnPicture {
  readonly file: string;
  readonly svg: string;
}

export function drawnPictures(): readonly DrawnPicture[] {
  const sequences = globSync("pictures/*.txt", { cwd: DOCS }).map((text) => ({
    file: path.join(DOCS, text.replace(/\.txt$/, ".svg")),
    svg: drawPicture(readFileSync(path.join(DOCS, text), "utf8")),
  }));
  const wait = waitOf(readResults(RESULTS_FOLDER));
  if (wait === null) return sequences;
  const sizes = (["wide", "narrow"] as const).map((size) => ({
    file: path.join(DOCS, `pictures/wait-${size}.svg`),
    svg: drawWait(wait, size),
  }));
  return [...sequences, ...sizes];
}
