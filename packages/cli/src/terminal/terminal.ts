/**
 * What a command shows while it works: steps go to stderr, so that stdout holds only what was asked for. Colours
 * and the spinner appear on a terminal only, and never with NO_COLOR or --json.
 */
import { styleText } from "node:util";
import { terminalText } from "@radical/protocol";

/** Styles of the terminal as node:util names them. */
export type Style = "red" | "green" | "yellow" | "cyan" | "dim" | "bold";

export interface Terminal {
  readonly colours: boolean;
  readonly style: (style: Style, text: string) => string;
  /** One line on stderr. */
  note(text: string): void;
  /** Shows `label` for as long as `work` takes, if that is noticeable. A function tells how far it is. */
  during<T>(label: string | (() => string), work: Promise<T>): Promise<T>;
}

export interface TerminalOptions {
  /** Nothing but errors is shown. */
  readonly quiet?: boolean;
  readonly stream?: NodeJS.WriteStream;
  readonly environment?: NodeJS.ProcessEnv;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
/** Work that ends before is not worth a spinner. */
const SPINNER_AFTER_MS = 200;
/** Without a terminal a step that takes longer gets one line. */
const LINE_AFTER_MS = 900;

export function createTerminal(options: TerminalOptions = {}): Terminal {
  const stream = options.stream ?? process.stderr;
  const environment = options.environment ?? process.env;
  const colours = coloursWanted(stream, environment);
  const style = (name: Style, text: string): string =>
    colours ? styleText(name, text, { validateStream: false }) : text;
  const note = (text: string): void => {
    if (options.quiet !== true) stream.write(`${laidOut(text, colours)}\n`);
  };

  return {
    colours,
    style,
    note,
    async during(label, work) {
      if (options.quiet === true) return work;
      const words = typeof label === "string" ? () => label : label;
      if (!stream.isTTY) {
        const timer = setTimeout(() => note(`${words()} …`), LINE_AFTER_MS);
        try {
          return await work;
        } finally {
          clearTimeout(timer);
        }
      }
      let frame = 0;
      const spin = (): void => {
        stream.write(`\r\u001b[2K${style("cyan", FRAMES[frame % FRAMES.length] ?? "")} ${words()} …`);
        frame++;
      };
      let interval: NodeJS.Timeout | undefined;
      const start = setTimeout(() => {
        spin();
        interval = setInterval(spin, FRAME_MS);
      }, SPINNER_AFTER_MS);
      try {
        return await work;
      } finally {
        clearTimeout(start);
        clearInterval(interval);
        if (frame > 0) stream.write("\r\u001b[2K");
      }
    },
  };
}

/** What a program lays out itself: lines, tabs, and styles, as far as it uses them. */
const LINES = /(\r?\n|\t)/;
// oxlint-disable-next-line no-control-regex -- it begins every style
const LINES_AND_STYLES = /(\r?\n|\t|\u001b\[[0-9;]*m)/;

/**
 * Lines as they are to be written, with escapes in place of all other control characters. Text of others that stands in a line goes
 * through `terminalText` before, so that it makes no lines of its own.
 */
export function laidOut(text: string, colours: boolean): string {
  return text
    .split(colours ? LINES_AND_STYLES : LINES)
    .map((part, at) => (at % 2 === 0 ? terminalText(part) : part.replace("\r", "")))
    .join("");
}

/** Several lines of others, one below the other: all but the first are indented, so that none passes for one of ours. */
export function indentedText(text: string): string {
  return text.split(/\r?\n/).map(terminalText).join("\n  ");
}

/** Writes a line to standard output. */
export function print(text: string): void {
  process.stdout.write(`${laidOut(text, coloursWanted(process.stdout, process.env))}\n`);
}

/** https://no-color.org: any non-empty NO_COLOR; FORCE_COLOR wins over a stream that is no terminal. */
function coloursWanted(stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): boolean {
  if ((environment["NO_COLOR"] ?? "") !== "") return false;
  const forced = environment["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0";
  return stream.isTTY && environment["TERM"] !== "dumb";
}
