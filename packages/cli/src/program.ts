/** The command `radical` with its subcommands. `pnpm docs:reference` writes their help into docs/cli.md. */
import type { Program } from "@radical/command-line";
import { analyzeCommand } from "./commands/analyze.ts";
import { backupCommand, restoreCommand } from "./commands/backup.ts";
import { benchCommand } from "./commands/bench.ts";
import { buildCommand } from "./commands/build.ts";
import { cacheCommand } from "./commands/cache.ts";
import { completionCommand } from "./commands/completion.ts";
import { dashboardCommand } from "./commands/dashboard.ts";
import { dataCommand } from "./commands/data.ts";
import { deployCommand } from "./commands/deploy.ts";
import { deploymentsCommand } from "./commands/deployments.ts";
import { destroyCommand } from "./commands/destroy.ts";
import { devCommand } from "./commands/dev.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { explainCommand } from "./commands/explain.ts";
import { lspCommand } from "./commands/lsp.ts";
import { metricsCommand } from "./commands/metrics.ts";
import { primaryCommand } from "./commands/primary.ts";
import { recordCommand } from "./commands/record.ts";
import { replayCommand } from "./commands/replay.ts";
import { rollbackCommand } from "./commands/rollback.ts";
import { schedulesCommand } from "./commands/schedules.ts";
import { secretsCommand } from "./commands/secrets.ts";
import { tailCommand } from "./commands/tail.ts";
import { tasksCommand } from "./commands/tasks.ts";
import { workflowsCommand } from "./commands/workflows.ts";
import { radicalVersion } from "./version.ts";

/** The table of the command. */
export function radicalProgram(): Program {
  return {
    name: "radical",
    words: "Build, analyze and run handlers that are strictly serializable and run close to users",
    version: radicalVersion(),
    commands: [
      devCommand,
      buildCommand,
      analyzeCommand,
      explainCommand,
      benchCommand,
      dataCommand,
      backupCommand,
      restoreCommand,
      deployCommand,
      deploymentsCommand,
      rollbackCommand,
      destroyCommand,
      secretsCommand,
      primaryCommand,
      doctorCommand,
      recordCommand,
      replayCommand,
      tailCommand,
      metricsCommand,
      tasksCommand,
      schedulesCommand,
      workflowsCommand,
      cacheCommand,
      dashboardCommand,
      lspCommand,
      completionCommand(radicalProgram),
    ],
    notes: `The output has no colours when it is not a terminal, or when NO_COLOR is set.`,
    exitCodes: [
      "the command did its work",
      "the command failed: the handlers have errors, for example, or the application could not start",
      "nothing was done: the usage is wrong, or the configuration can't be used",
      "the command did its work, and with --strict: a handler is neither sliced nor given",
    ],
    examples: [
      ["radical dev", "run the application here, with simulated locations"],
      ["radical build", "write the files that are deployed to dist/"],
      ["radical analyze follow", 'show what the handler "follow" reads and writes'],
      ["radical data get users ann", "show an item of a table"],
      ["radical deploy", "take it to Cloudflare and its primary"],
      ["radical doctor", "list what is wrong, if anything is"],
    ],
  };
}
