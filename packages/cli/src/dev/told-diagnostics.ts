/** Warnings that `radical dev` has shown: it does not repeat them on each build, unless they were gone in between. */
import type { Diagnostic } from "@radical/analyzer";
import type { AnalysisReport } from "../build/compile.ts";

export class ToldDiagnostics {
  #told: ReadonlySet<string> = new Set();

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
}

/** The same also where lines were added above it. */
function keyOf({ code }: Diagnostic, frame: string): string {
  return `${code} ${frame.replaceAll(/:\d+:\d+|^\s*\d*(?= \|)|^\s*(?=-->|=)/gm, "")}`;
}
