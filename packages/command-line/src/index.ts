export {
  type Command,
  commandLine,
  type Example,
  type Given,
  type GivenOptions,
  helpOf,
  type Problem,
  problemText,
  type Program,
  readCommandLine,
  readProgramLine,
  type Subcommand,
  subcommand,
  wrongOption,
} from "./command-line.ts";
export { completionScript, SHELLS } from "./completion.ts";
export { flagOf, type Option, type Options, type Values, variableOf, WrongValue } from "./option.ts";
