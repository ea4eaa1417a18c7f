/** Installs the dependencies of the new application with npm. */
import { spawn } from "node:child_process";
import { ScaffoldError } from "./scaffold-error.ts";

/** What npm writes is shown only if it fails. */
export async function install(directory: string): Promise<void> {
  const command = process.platform === "win32" ? "npm.cmd" : "npm";
  const child = spawn(command, ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
  });
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-8_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  // Ended on the way, npm must not go on alone.
  const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, passOn);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error) =>
      reject(
        new ScaffoldError(`npm can't be run: ${error.message}`, `install the dependencies yourself in ${directory}`),
      ),
    );
    child.once("close", resolve);
  });
  for (const signal of signals) process.off(signal, passOn);
  if (code !== 0)
    throw new ScaffoldError(
      `npm install failed:\n${output.trim()}`,
      `the application is in ${directory}: repeat \`npm install\` there`,
    );
}
