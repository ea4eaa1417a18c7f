import { helpOf, SHELLS, completionScript } from "@radical/command-line";
import { expect, test } from "vitest";
import { radicalProgram } from "../program.ts";

test.each(SHELLS)("the script for %s has every command of radical, with its options", (shell) => {
  const script = completionScript(radicalProgram(), shell);
  const helps = helpOf(radicalProgram(), 110);
  expect(helps.length).toBeGreaterThan(20);
  for (const { path, text } of helps) {
    const line = script.split(`'${path} -'`)[1]?.trimStart().split("\n").slice(0, 2).join("\n");
    for (const [, flag = ""] of text.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)) expect(line).toContain(flag);
  }
});
