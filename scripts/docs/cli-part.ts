/** The reference of the command: the help of a command, and of its own commands. */
import { radicalProgram } from "../../packages/cli/src/program.ts";
import { helpOf } from "../../packages/command-line/src/index.ts";

const WIDTH = 110;
const PROGRAM = "radical";

/** `radical` alone is the list of all commands. Throws for a command that there is not. */
export function cliPart(command: string): string {
  const found = helpOf(radicalProgram(), WIDTH).filter(
    ({ path }) => path === command || (command !== PROGRAM && path.startsWith(`${command} `)),
  );
  if (found.length === 0) throw new Error(`there is no command "${command}"`);
  return found
    .map(({ path, text }) => `${path === command ? "" : `### \`${path}\`\n\n`}\`\`\`text\n${text}\n\`\`\``)
    .join("\n\n");
}

/** The commands of the program, without the commands of those. */
export function commandNames(): readonly string[] {
  return helpOf(radicalProgram(), WIDTH).flatMap(({ path }) => (path.split(" ").length <= 2 ? [path] : []));
}
