/** The pages about diagnostics: in the published package beside `dist`, in the workspace among its documents. */
import { existsSync } from "node:fs";

export function diagnosticPages(): URL {
  const published = new URL("../diagnostics/", import.meta.url);
  return existsSync(published) ? published : new URL("../../../docs/diagnostics/", import.meta.url);
}
