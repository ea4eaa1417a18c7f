/** What `radical dev` has warned of: it does not repeat that on each build, unless it was gone in between. */
import type { Diagnostic } from "@radical/analyzer";
import type { AnalysisReport, LeftOutFile } from "@radical/app";

export class ToldDiagnostics {
  #told: ReadonlySet<string> = new Set();
  #toldFiles: ReadonlySet<string> = new Set();

  /** The diagnostics of a build as text, without the warnings that the last build had too. Errors are told always. */
  untold({ diagnostics, frames }: Pick<AnalysisReport, "diagnostics" | "frames">): readonly string[] {
    const all = diagnostics.map((diagnostic) => {
      const frame = frames.get(diagnostic) ?? diagnostic.message;
      return { frame, key: keyOf(diagnostic, frame) };
    });
    const told = this.#told;
    // What stops a build hides what it would have warned of: that is not gone.
    const stopped = diagnostics.some(({ severity }) => severity === "error");
    this.#told = new Set([...(stopped ? told : []), ...all.map(({ key }) => key)]);
    return all
      .filter(({ key }, index) => diagnostics[index]!.severity === "error" || !told.has(key))
      .map(({ frame }) => frame);
  }

  /** Without those that the last build left out too. */
  untoldFiles(leftOut: readonly LeftOutFile[]): readonly LeftOutFile[] {
    const told = this.#toldFiles;
    const keyed = leftOut.map((file) => ({ file, key: `${file.name}\0${file.reason}` }));
    this.#toldFiles = new Set(keyed.map(({ key }) => key));
    return keyed.filter(({ key }) => !told.has(key)).map(({ file }) => file);
  }
}

/** The same also where lines were added above it. */
function keyOf({ code }: Diagnostic, frame: string): string {
  return `${code} ${frame.replaceAll(/:\d+:\d+|^\s*\d*(?= \|)|^\s*(?=-->|=)/gm, "")}`;
}
