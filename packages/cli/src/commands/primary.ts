/** `radical primary`: the LVI server as files, for a machine or container that the developer hosts. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { createTerminal, print } from "../terminal/terminal.ts";
import { reported } from "./command.ts";

const PRIMARY = {
  name: "primary",
  words: "write the LVI server with a Dockerfile and a systemd unit, to host it yourself",
  options: {
    out: { kind: "text", placeholder: "folder", default: "primary", words: "folder to write to" },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Writes the LVI server, bundled with its dependencies, and what hosts it:
  dist/main.js, dist/worker.js     the server: node dist/main.js --help
  package.json                     its version
  radical-lvi-server.service       a unit of systemd, for the folder in /opt/radical
  Dockerfile                       an image of the folder

docs/operations.md, "A server of your own", shows how to use both. Then give radical deploy its address: --primary <url>.`,
  examples: [
    ["radical primary --out primary"],
    ["radical primary --out primary && docker build --tag my-primary primary"],
  ],
} as const satisfies Command<Options>;

type PrimaryOptions = Values<typeof PRIMARY.options>;

export const primaryCommand: Subcommand = subcommand(PRIMARY, (options) =>
  reported(options, () => writePrimary(options)),
);

async function writePrimary({ out, json }: PrimaryOptions): Promise<void> {
  // The bundler is loaded by those who need it.
  const { hostingFiles, serverFiles } = await import("@radical/deploy");
  const terminal = createTerminal({ quiet: json });
  const server = await terminal.during("Bundling the server", serverFiles());
  const files = Object.entries({ ...server, ...hostingFiles() });
  for (const [path, text] of files) {
    await mkdir(join(out, dirname(path)), { recursive: true });
    await writeFile(join(out, path), text);
  }
  if (json) print(JSON.stringify({ folder: out, files: files.map(([path]) => path) }));
  else for (const [path] of files) print(join(out, path));
}
