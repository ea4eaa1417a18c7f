/** For tests: the handlers of a template. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildInput } from "../pipeline.ts";
import { buildInput } from "./library.ts";

export const TEMPLATES = fileURLToPath(new URL("../../../../templates/", import.meta.url));

/** The input of a build of a template. As the command finds them, the files of folders within `handlers` have no handlers. */
export function templateInput(name: string): BuildInput {
  const folder = join(TEMPLATES, name, "handlers");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const sources = files.map((file) => [`handlers/${file}`, readFileSync(join(folder, file), "utf8")] as const);
  const input = buildInput(Object.fromEntries(sources));
  return { ...input, handlerFiles: input.handlerFiles.filter((file) => file.split("/").length === 2) };
}
