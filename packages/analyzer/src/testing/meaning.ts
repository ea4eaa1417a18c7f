/**
 * For tests: small handlers in everyday TypeScript, and what becomes of each. It does what TypeScript does, it is refused,
 * or it ends as a trap. No handler quietly means something else.
 */
import { isDeepStrictEqual } from "node:util";
import type { BuildInput, BuildResult } from "../pipeline.ts";
import { runAsTypeScript } from "./as-typescript.ts";
import { buildInput } from "./library.ts";
import { call } from "./run.ts";

type Fate =
  /** Each call has the result that it has as TypeScript. Where that throws, the handler ends as a trap. */
  | { readonly kind: "alike" }
  /** Each call ends as a trap of this code, with these words in its message. */
  | { readonly kind: "traps"; readonly code: string; readonly words: string }
  /** The build says this code at this text, and nothing else. */
  | { readonly kind: "told"; readonly code: string; readonly at: string };

export interface Meaning {
  readonly name: string;
  /** A handler file. Its handler is `run`, and has the name of the meaning when it is built. */
  readonly source: string;
  /** The arguments of each call. */
  readonly calls: readonly Readonly<Record<string, unknown>>[];
  readonly fate: Fate;
}

interface Difference {
  /** Whether the build says what it should not, or does not say what it should. */
  readonly isRefusal: boolean;
  readonly words: string;
}

type Build = (input: BuildInput) => BuildResult;

/** How a handler differs from its fate; null: it does not. */
export function differenceOf(meaning: Meaning, build: Build): Difference | null {
  return differencesOf([meaning], build).get(meaning.name) ?? null;
}

/** How handlers that are built together differ from their fates, by name. */
export function differencesOf(meanings: readonly Meaning[], build: Build): ReadonlyMap<string, Difference> {
  const files = new Map(
    meanings.map(({ name, source }) => [`handlers/${name}.ts`, source.replaceAll(/\brun(?=\()/g, name)] as const),
  );
  const result = build({ ...buildInput(Object.fromEntries(files)), optimize: false });
  const found = new Map<string, Difference>();
  for (const meaning of meanings) {
    const path = `handlers/${meaning.name}.ts` as const;
    const text = files.get(path)!;
    const said = result.diagnostics
      .filter(({ primary }) => primary.file === path)
      .map(({ code, primary }) => `${code} at ${text.slice(primary.start, primary.end)}`);
    const { fate } = meaning;
    const expected = fate.kind === "told" ? [`${fate.code} at ${fate.at}`] : [];
    if (!isDeepStrictEqual(said, expected)) {
      found.set(meaning.name, { isRefusal: true, words: said.length === 0 ? "Nothing is told." : said.join("; ") });
    } else if (result.ok) {
      const words = differenceInCalls(meaning, text, result);
      if (words !== null) found.set(meaning.name, { isRefusal: false, words });
    }
  }
  return found;
}

function differenceInCalls({ name, calls, fate }: Meaning, text: string, build: BuildResult): string | null {
  for (const args of calls) {
    const { outcome, result } = call(build, new Map(), name, args);
    const expected = runAsTypeScript(text, name, args);
    let isRight: boolean;
    if (fate.kind === "traps")
      isRight = outcome.kind === "trap" && outcome.code === fate.code && outcome.message.includes(fate.words);
    else if (expected.kind === "error") isRight = outcome.kind === "trap";
    else if (expected.kind === "abort") isRight = outcome.kind === "abort" && outcome.code === expected.code;
    else isRight = outcome.kind === "result" && isDeepStrictEqual(result, expected.value);
    if (!isRight) {
      const ending = outcome.kind === "result" ? result : outcome;
      return `${JSON.stringify(args)} gives ${JSON.stringify(ending)}, and ${JSON.stringify(expected)} as TypeScript`;
    }
  }
  return null;
}
