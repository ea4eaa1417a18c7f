/** Runs another program, and ends it when this command is ended. */
import { spawn } from "node:child_process";
import process from "node:process";

export interface ProgramOptions {
  /** Aborted, it ends the program. */
  readonly signal: AbortSignal;
}

export interface Ended {
  /** Null: there is no such program, or it was ended. */
  readonly code: number | null;
  /** The end of what it wrote. */
  readonly output: string;
}

const KEPT_CHARACTERS = 8_000;

/** Throws the signal's reason if the signal was aborted meanwhile, once the program has ended. */
export async function runProgram(
  name: string,
  args: readonly string[],
  { cwd = process.cwd(), signal }: ProgramOptions & { readonly cwd?: string },
): Promise<Ended> {
  signal.throwIfAborted();
  const child = spawn(name, args, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    // There package managers are scripts of the shell.
    shell: process.platform === "win32",
  });
  const end = (): void => void child.kill("SIGTERM");
  signal.addEventListener("abort", end);
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-KEPT_CHARACTERS);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? resolve(null) : reject(error)));
    child.once("close", resolve);
  });
  signal.removeEventListener("abort", end);
  signal.throwIfAborted();
  return { code, output };
}
