/**
 * Scripts that complete a program's commands, options and their words in a shell. The table of the program makes them, and they
 * hold it: a Tab starts no process. Where nothing of the table fits, the shell completes the name of a file.
 */
import type { Program, Subcommand } from "./command-line.ts";
import { flagOf, type Option } from "./option.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** The words that can stand at a place of the command line. */
interface Place {
  /**
   * The commands, and the word before: `radical data data`, or `radical analyze --emit-ir`. In place of the word before, `-`
   * stands for a word that begins with it.
   */
  readonly key: string;
  readonly words: readonly Word[];
}

interface Word {
  readonly word: string;
  readonly about: string;
}

export function completionScript(program: Program, shell: (typeof SHELLS)[number]): string {
  const { name } = program;
  const places = placesOf(program, "");
  const paths = places.flatMap(({ key }) => (key.endsWith(" -") && key !== `${name} -` ? [key.slice(0, -2)] : []));
  switch (shell) {
    case "bash":
      return bashScript(name, paths, places);
    case "zsh":
      return zshScript(name, paths, places);
    case "fish":
      return fishScript(name, paths, places);
  }
}

function placesOf(made: Program | Subcommand, above: string): readonly Place[] {
  const { name, version } = namedOf(made);
  const path = above === "" ? name : `${above} ${name}`;
  const general = [
    { word: "--help", about: "show help" },
    ...(version === undefined ? [] : [{ word: "--version", about: "print the version" }]),
  ];
  if (!("run" in made)) {
    const commands = made.commands.map(namedOf).map(({ name: word, words: about }) => ({ word, about }));
    return [
      { key: `${path} ${name}`, words: commands },
      { key: `${path} -`, words: general },
      ...made.commands.flatMap((inner) => placesOf(inner, path)),
    ];
  }
  const options = Object.entries(made.command.options).map(([option, known]) => ({
    // An operand stands behind the command.
    before: isOperand(known) ? name : flagOf(option),
    option: known,
  }));
  const flags = options.flatMap(({ before: word, option }) =>
    isOperand(option) ? [] : [{ word, about: option.words }],
  );
  return [
    { key: `${path} -`, words: [...flags, ...general] },
    ...options.flatMap(({ before, option }) => {
      const words = valuesOf(option).map((word) => ({ word, about: option.words }));
      return words.length === 0 ? [] : [{ key: `${path} ${before}`, words }];
    }),
  ];
}

function isOperand({ kind }: Option): boolean {
  return kind === "operand" || kind === "operands";
}

function namedOf(made: Program | Subcommand): { name: string; words: string; version?: string } {
  return "run" in made ? made.command : made;
}

function valuesOf(option: Option): readonly string[] {
  if (option.kind === "switch") return ["yes", "no"];
  return "of" in option ? (option.of ?? []) : [];
}

function bashScript(name: string, paths: readonly string[], places: readonly Place[]): string {
  const branch = ({ key, words }: Place): string =>
    `  ${quoted(key)}) words=${quoted(words.map(({ word }) => word).join(" "))} ;;`;
  return `# Made by: ${name} completion bash
_${name}() {
  local at=${name} before=${name} cur=\${COMP_WORDS[COMP_CWORD]} words= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    # Readline takes --option=value apart.
    [[ $word == = ]] || before=$word
    case "$at $word" in
    ${paths.map(quoted).join("|")}) at="$at $word" ;;
    esac
  done
  if [[ $cur == = ]]; then cur=; elif [[ $cur == -* ]]; then before=-; fi
  case "$at $before" in
${places.map(branch).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _${name} ${name}
`;
}

function zshScript(name: string, paths: readonly string[], places: readonly Place[]): string {
  const described = ({ word, about }: Word): string => quoted(`${word.replaceAll(":", "\\:")}:${about}`);
  const branch = ({ key, words }: Place): string => `  ${quoted(key)}) found=(${words.map(described).join(" ")}) ;;`;
  return `#compdef ${name}
# Made by: ${name} completion zsh
_${name}() {
  local at=${name} before=${name} word
  local -a found kind
  for word in "\${(@)words[2,CURRENT-1]}"; do
    before=$word
    case "$at $word" in
    ${paths.map(quoted).join("|")}) at="$at $word" ;;
    esac
  done
  if [[ $words[CURRENT] == -* ]]; then before=- kind=(-o); fi
  case "$at $before" in
${places.map(branch).join("\n")}
  *) _files; return ;;
  esac
  _describe $kind ${name} found
}
# A file of a folder in fpath is itself the function. Otherwise it is read once, and names the function.
if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

function fishScript(name: string, paths: readonly string[], places: readonly Place[]): string {
  const described = ({ word, about }: Word): string => fishQuoted(`${word}\t${about}`);
  const branch = ({ key, words }: Place): string =>
    `        case ${fishQuoted(key)}\n            printf '%s\\n' ${words.map(described).join(" ")}`;
  return `# Made by: ${name} completion fish
function __${name}_words
    set -l at ${name}
    set -l before ${name}
    for word in (commandline -opc)[2..-1]
        set before $word
        if contains -- "$at $word" ${paths.map(fishQuoted).join(" ")}
            set at "$at $word"
        end
    end
    if string match -q -- '-*' (commandline -ct)
        set before -
    end
    switch "$at $before"
${places.map(branch).join("\n")}
        case '*'
            __fish_complete_path (commandline -ct)
    end
end
complete -c ${name} -e
complete -c ${name} -f -a '(__${name}_words)'
`;
}

/** As bash and zsh read it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
