/** The workflow of GitHub Actions that checks and tests the application. */
import { ciSteps, inWordsOf, type PackageManager } from "./package-manager.ts";

export const WORKFLOW_FILE = ".github/workflows/ci.yml";

/** `version`: of the package manager; null: not known. */
export function workflowFor(manager: PackageManager, version: string | null): string {
  const scripts = ["npm run check", "npm test"].map((command) => `- run: ${inWordsOf(manager, command)}`);
  const steps = [
    "- uses: actions/checkout@d23441a48e516b6c34aea4fa41551a30e30af803 # v6.1.0",
    ...ciSteps(manager, version),
    ...scripts,
  ];
  return `name: CI
on:
  push:
    branches: [main, master]
  pull_request:
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-latest
    timeout-minutes: 15
    steps:
${steps.map((line) => `      ${line}`).join("\n")}
`;
}
