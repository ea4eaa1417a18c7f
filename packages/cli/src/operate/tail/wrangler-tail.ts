/** `wrangler tail` as a child process: how it is started. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { CommandError } from "@radical/app/command-error";
import type { WranglerTail } from "./sources.ts";

/** The wrangler of the application, or else the one of this package. `account`: at Cloudflare; null: as wrangler finds it. Throws a CommandError without either. */
export function wranglerTail(worker: string, root: string, account: string | null = null): WranglerTail {
  const main = wranglerMain(join(root, "package.json")) ?? wranglerMain(import.meta.url);
  if (main === null) {
    throw new CommandError(
      "wrangler_missing",
      "wrangler, which listens to the Worker, is not installed.",
      "Install it: npm install --save-dev wrangler",
    );
  }
  return {
    command: [process.execPath, main, "tail", worker, "--format", "json"],
    cwd: root,
    environment: {
      ...process.env,
      ...(account === null ? {} : { CLOUDFLARE_ACCOUNT_ID: account }),
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_HIDE_BANNER: "true",
      NO_COLOR: "1",
    },
  };
}

/** Of the application, which chooses its version. */
const PACKAGE = "wrangler/package.json";

function wranglerMain(from: string): string | null {
  try {
    const require = createRequire(from);
    const { bin } = require(PACKAGE) as { readonly bin: Readonly<Record<string, string>> };
    return join(dirname(require.resolve(PACKAGE)), bin["wrangler"]!);
  } catch {
    return null;
  }
}
