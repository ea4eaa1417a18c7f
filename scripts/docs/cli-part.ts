/** The reference of the command: what `--help` prints, of every command. */
import { createProgram } from "../../packages/cli/src/program.ts";

type Command = ReturnType<typeof createProgram>;

const WIDTH = 110;

export function cliPart(): string {
  const program = createProgram();
  return commandsOf(program)
    .map(({ path, command }) => `## \`${path}\`\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``)
    .join("\n\n");
}

interface Named {
  readonly path: string;
  readonly command: Command;
}

function commandsOf(command: Command, above = ""): readonly Named[] {
  const path = `${above} ${command.name()}`.trim();
  return [{ path, command }, ...command.commands.flatMap((inner) => commandsOf(inner, path))];
}

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => WIDTH });
  command.outputHelp();
  return text.trim();
}
