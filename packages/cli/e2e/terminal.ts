/** The command `radical` at a terminal, where somebody types: a pseudo-terminal, made by Python's module for it. */
import { execFile } from "node:child_process";
import { promisify, stripVTControlCharacters } from "node:util";
import { MAIN } from "./radical-process.ts";

/** Once its output has this text behind what was waited for before, these keys are typed. */
export interface Typed {
  readonly at: string;
  readonly keys: string;
}

export const CTRL_C = "\x03";

export interface FinishedAtTerminal {
  readonly code: number;
  /** Of both streams, as it was shown, without colours. */
  readonly shown: string;
}

export async function radicalAtTerminal(
  args: readonly string[],
  typed: readonly Typed[],
  environment: NodeJS.ProcessEnv,
): Promise<FinishedAtTerminal> {
  const argv = [process.execPath, "--conditions=source", MAIN, ...args];
  const env = Object.fromEntries(
    Object.entries({ ...process.env, FORCE_COLOR: undefined, CI: undefined, TERM: "xterm", ...environment }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  const python = promisify(execFile)("python3", ["-c", PROGRAM]);
  python.child.stdin?.end(JSON.stringify({ argv, env, typed: typed.map(({ at, keys }) => [at, keys]) }));
  const { stdout } = await python;
  const { code, shown } = JSON.parse(stdout) as FinishedAtTerminal;
  return { code, shown: stripVTControlCharacters(shown).replaceAll("\r\n", "\n") };
}

const PROGRAM = `
import json, os, pty, sys
given = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.execve(given["argv"][0], given["argv"], given["env"])
shown, seen, typed = b"", 0, given["typed"]
while True:
    try:
        some = os.read(terminal, 65536)
    except OSError:
        break
    if not some:
        break
    shown += some
    if typed:
        at = shown.find(typed[0][0].encode(), seen)
        if at >= 0:
            seen = at + len(typed[0][0].encode())
            os.write(terminal, typed.pop(0)[1].encode())
_, status = os.waitpid(pid, 0)
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "shown": shown.decode("utf8", "replace")}))
`;
