/**
 * Whether the tree is the release that a tag names: `node scripts/check-release.mjs v0.1.0`. All packages have that version, and the
 * changelog has its section, with a date. Exit code 1 and the reasons if not.
 */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** @param {string} tag @param {string} root @returns {string[]} what is wrong */
export function problemsOfRelease(tag, root) {
  const version = /^v(\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?)$/.exec(tag)?.[1];
  if (version === undefined) return [`The tag "${tag}" is not a version like v0.1.0.`];
  const problems = [];
  for (const file of globSync("packages/*/package.json", { cwd: root }).toSorted()) {
    const text = readFileSync(path.join(root, file), "utf8");
    const manifest = /** @type {{ private?: boolean, version: string, repository?: unknown }} */ (JSON.parse(text));
    if (manifest.private !== true && manifest.repository === undefined)
      problems.push(`${file} has no "repository": npm compares it with the place that a package is published from.`);
    if (manifest.version !== version) problems.push(`${file} has version ${manifest.version}, not ${version}.`);
  }
  const { repository } = /** @type {{ repository?: unknown }} */ (
    JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"))
  );
  if (repository === undefined)
    problems.push(`package.json has no "repository": the site of the documents would have no links to the source.`);
  const changelog = readFileSync(path.join(root, "CHANGELOG.md"), "utf8");
  const heading = changelog.split("\n").find((line) => line.startsWith(`## ${version},`));
  if (heading === undefined) problems.push(`CHANGELOG.md has no section "## ${version}, <date>".`);
  else if (!/, \d{4}-\d\d-\d\d$/.test(heading)) problems.push(`The section of ${version} in CHANGELOG.md has no date.`);
  return problems;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
  const problems = problemsOfRelease(process.argv[2] ?? "", root);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
