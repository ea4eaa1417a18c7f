/** `radical lsp`: the language server, which an editor starts. */
import { type Subcommand, subcommand } from "@radical/command-line";
import { radicalVersion } from "../version.ts";

export const lspCommand: Subcommand = subcommand(
  {
    name: "lsp",
    words: "show an editor what is wrong with handlers, and what they read and write",
    options: {
      stdio: { kind: "flag", words: "no effect: the command always uses standard input and output" },
    },
    notes: `Speaks the Language Server Protocol. An editor starts it; it ends with the editor. It serves every application of
the workspace that the editor has opened: each folder with a radical.config.ts.`,
    examples: [["radical lsp --stdio", "as editors start it"]],
  },
  async () => {
    const { serveEditor } = await import("../lsp/language-server.ts");
    serveEditor(radicalVersion());
  },
);
