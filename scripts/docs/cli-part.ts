/** The reference of the command: the help of every command. */
import { radicalProgram } from "../../packages/cli/src/program.ts";
import { helpOf } from "../../packages/command-line/src/index.ts";

const WIDTH = 110;

export function cliPart(): string {
  return helpOf(radicalProgram(), WIDTH)
    .map(({ path, text }) => `## \`${path}\`\n\n\`\`\`text\n${text}\n\`\`\``)
    .join("\n\n");
}
