/** `radical completion`: a script by which a shell completes the commands and options of `radical`. */
import { completionScript, type Program, SHELLS, type Subcommand, subcommand } from "@radical/command-line";

/** `program` makes the table of all commands, this one among them. */
export function completionCommand(program: () => Program): Subcommand {
  return subcommand(
    {
      name: "completion",
      words: "print a script by which bash, zsh or fish completes commands and options",
      options: {
        shell: { kind: "operand", of: SHELLS, words: "shell that reads the script" },
      },
      notes: `Write the script to a file that the shell reads, and open a new shell. The script has the commands and options of this version,
so write it again after an upgrade. It completes the word radical. Where radical is not in the PATH, define it as a function
first, for bash and zsh: radical() { npx radical "$@"; }`,
      examples: [
        ["radical completion bash > ~/.local/share/bash-completion/completions/radical"],
        ['radical completion zsh > "${fpath[1]}/_radical"', "a folder of fpath that you can write to"],
        ["radical completion fish > ~/.config/fish/completions/radical.fish"],
        ['eval "$(radical completion bash)"', "this shell alone; zsh likewise, after compinit"],
      ],
    },
    async ({ shell }) => void process.stdout.write(completionScript(program(), shell)),
  );
}
