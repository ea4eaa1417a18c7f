/** A git repository for the new application, with its first commit. */
import { dirname } from "node:path";
import { runProgram, type Ended, type ProgramOptions } from "./program.ts";

export type Repository =
  | { readonly kind: "made" }
  /** Git has refused the commit: the files are added. */
  | { readonly kind: "uncommitted"; readonly reason: string }
  /** Nothing was done. */
  | { readonly kind: "none"; readonly reason: "no-git" | "inside-another" };

/** Makes none inside another repository, or in a folder that has one. */
export async function makeRepository(
  directory: string,
  message: string,
  { signal }: ProgramOptions,
): Promise<Repository> {
  const git = (cwd: string, ...args: readonly string[]): Promise<Ended> => runProgram("git", args, { cwd, signal });
  if ((await git(directory, "--version")).code !== 0) return { kind: "none", reason: "no-git" };
  for (const folder of [directory, dirname(directory)])
    if ((await git(folder, "rev-parse", "--is-inside-work-tree")).code === 0)
      return { kind: "none", reason: "inside-another" };
  for (const args of [
    ["init", "--quiet"],
    ["add", "--all"],
    // The developer's own hooks and signatures are for commits that the developer makes.
    ["-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "--message", message],
  ]) {
    const { code, output } = await git(directory, ...args);
    if (code !== 0) return { kind: "uncommitted", reason: output.trim() };
  }
  return { kind: "made" };
}
