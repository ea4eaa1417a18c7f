/** `radical primary`: the LVI server as files, or as an image, for a machine or container that the developer hosts. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { CommandError } from "@radical/app/command-error";
import { createTerminal, print, type Terminal } from "../terminal/terminal.ts";
import { reported } from "./command.ts";

const PRIMARY = {
  name: "primary",
  words: "write the LVI server with a Dockerfile and a systemd unit, to host it yourself",
  options: {
    out: { kind: "text", placeholder: "folder", default: "primary", words: "folder to write to" },
    image: {
      kind: "text",
      placeholder: "folder",
      words:
        "also build the image, for arm64 and amd64, into this new folder, without Docker; its base comes from Docker Hub",
    },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Writes the LVI server, bundled with its dependencies, and what hosts it:
  dist/main.js, dist/worker.js     the server: node dist/main.js --help
  package.json                     its version
  bill-of-materials.cdx.json       the packages in it, for scanners (CycloneDX)
  LICENSES.txt                     and the texts of their licences
  healthy.mjs                      the health check of the image
  radical-lvi-server.service       a unit of systemd, for the folder in /opt/radical
  Dockerfile                       an image of the folder

--image writes the same image as a folder in the layout of the Open Container Initiative, which skopeo, crane and oras publish.
radical deploy needs neither: for machines on Fargate it puts the image into a registry of your AWS account by itself.

docs/operations.md, "A server of your own", shows how to use both. Then give radical deploy its address: --primary <url>.`,
  examples: [
    ["radical primary --out primary"],
    ["radical primary --out primary && docker build --tag my-primary primary"],
    ["radical primary --image image && skopeo copy --all oci:image docker://registry.example.com/primary:1"],
  ],
} as const satisfies Command<Options>;

type PrimaryOptions = Values<typeof PRIMARY.options>;

export const primaryCommand: Subcommand = subcommand(PRIMARY, (options) =>
  reported(options, () => writePrimary(options)),
);

async function writePrimary({ out, image, json }: PrimaryOptions): Promise<void> {
  // The bundler is loaded by those who need it.
  const { hostingFiles, serverFiles } = await import("@radical/deploy");
  const terminal = createTerminal({ quiet: json });
  if (image !== null) await refuseFull(image);
  const server = await terminal.during("Bundling the server", serverFiles());
  const files = Object.entries({ ...server, ...hostingFiles(server) });
  for (const [path, text] of files) {
    await mkdir(join(out, dirname(path)), { recursive: true });
    await writeFile(join(out, path), text);
  }
  const digest = image === null ? null : await writeImage(image, terminal);
  if (json) {
    const made = digest === null ? {} : { image: { folder: image, digest } };
    print(JSON.stringify({ folder: out, files: files.map(([path]) => path), ...made }));
    return;
  }
  for (const [path] of files) print(join(out, path));
  if (digest !== null) print(`${image}@${digest}`);
}

/** Files of another image would be left among those of this one. */
async function refuseFull(folder: string): Promise<void> {
  const found = await readdir(folder).catch(() => []);
  if (found.length === 0) return;
  throw new CommandError("folder_not_empty", `The folder ${folder} has files.`, "Name a new folder for --image.");
}

async function writeImage(folder: string, terminal: Terminal): Promise<string> {
  const { writeServerImage } = await import("@radical/deploy");
  return terminal.during("Building the image", writeServerImage(folder));
}
