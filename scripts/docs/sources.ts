/** The sources of all parts of the pages that are made from the code. */
import { cliPart } from "./cli-part.ts";
import { codePart } from "./code-parts.ts";
import { configPart } from "./config-part.ts";
import { costsPart } from "../evaluation/costs-part.ts";
import { errorsPart } from "./errors-part.ts";
import { evaluationPart } from "../evaluation/evaluation-part.ts";
import type { Source } from "./generated.ts";
import { languagePart } from "./language-part.ts";
import { limitsPart } from "./limits-part.ts";
import { runbooksPart } from "./runbooks-part.ts";
import { sdkPart } from "./sdk-part.ts";

export const SOURCES: Readonly<Record<string, Source>> = {
  cli: cliPart,
  code: codePart,
  config: configPart,
  costs: costsPart,
  errors: errorsPart,
  evaluation: evaluationPart,
  language: languagePart,
  limits: limitsPart,
  runbooks: runbooksPart,
  sdk: sdkPart,
};
