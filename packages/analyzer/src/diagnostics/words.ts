/** Words of diagnostics that several phases make. */
import type { DiagnosticCode } from "./catalogue.ts";

interface Words {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help: string;
}

export const REGULAR_EXPRESSION = {
  code: "regular_expression",
  message: "Handlers have no regular expressions.",
  help: "Use the methods of strings: `indexOf`, `includes`, `startsWith`, `split`, `charCodeAt`.",
} as const satisfies Words;

export const LOCAL_DECLARATION = {
  code: "local_declaration",
  message: "Classes, enums, interfaces and namespaces are declared at the top of a file.",
  help: "Move the declaration out of the function.",
} as const satisfies Words;

/** In place of the console. */
export const LOG_HELP =
  'Write `log("…")`, with `import { log } from "@radical/sdk"`. Radical shows the line once, and only for a run that counts.';

/** In place of a platform's values. */
export const ENVIRONMENT_HELP =
  "A handler sees its arguments, its tables and the recorded environment: `now()`, `caller()`, `random()` and `uuid()` of `@radical/sdk`.";

/** For a handler in record mode because of a mistake of Radical's own. */
export const SLOWER_HELP =
  "This is a mistake of Radical, not of yours. The handler works, but not at the speed of its location.";

/** For a read/write-set function without transformations because of a mistake of Radical's own. */
export const LONGER_HELP =
  "This is a mistake of Radical, not of yours. The handler works, but finding its set takes longer.";
