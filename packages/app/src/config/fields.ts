/**
 * The building blocks of the schema of `radical.config.ts`. Each has the words of its error: `a mail address` becomes
 * `deploy.primary.alarmEmail must be a mail address, not "ann"`.
 */
import { z } from "zod";

/** An object with these fields and no others. Its type keeps their comments, which editors show. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(", ");
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? `${UNKNOWN}${known}` : "an object"),
  });
}

const UNKNOWN = "is not a field; the fields are ";

export function text(pattern: RegExp, words: string): z.ZodString {
  return z.string(words).regex(pattern, words);
}

export function textThat(isRight: (value: string) => boolean, words: string): z.ZodString {
  return z.string(words).refine(isRight, words);
}

/** A number from `least` to `most`. */
export function numberIn(least: number, most: number, words: string): z.ZodNumber {
  return z.number(words).min(least, words).max(most, words);
}

/** A whole number from `least` to `most`. */
export function wholeNumber(least: number, most: number, words: string): z.ZodNumber {
  return numberIn(least, most, words).int(words);
}

export function flag(): z.ZodBoolean {
  return z.boolean("true or false");
}

export function oneOf<const Words extends readonly string[]>(
  words: Words,
): z.ZodEnum<z.core.util.ToEnum<Words[number]>> {
  return z.enum(words, `one of ${listed(words)}`);
}

/** `"kv", "memory"`. */
export function listed(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(", ");
}

export function folder(): z.ZodString {
  return textThat(isPathInside, "the relative path of a folder inside the project");
}

/** The relative path of a file inside the project. */
export function fileInside(extension: RegExp, words: string): z.ZodString {
  return textThat((path) => isPathInside(path) && extension.test(path), words);
}

function isPathInside(path: string): boolean {
  return (
    path !== "" &&
    !path.startsWith("/") &&
    !path.includes("\\") &&
    path.split("/").every((part) => part !== ".." && part !== ".")
  );
}

/** Each problem of `config` as a sentence that begins with the path of its field. One value has one problem. */
export function problemsOf(config: unknown, issues: readonly z.core.$ZodIssue[]): readonly string[] {
  return [...new Set(issues.flatMap((issue) => problemsOfIssue(config, issue, [])))];
}

function problemsOfIssue(config: unknown, issue: z.core.$ZodIssue, above: readonly PropertyKey[]): readonly string[] {
  const path = [...above, ...issue.path];
  const field = path.map(String).join(".");
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => `${[...path.map(String), key].join(".")} ${issue.message}`);
    case "invalid_union": {
      // A union tells of the fields of its object, if an object was given.
      const ofFields = issue.errors
        .flat()
        .filter(({ path: below, code }) => below.length > 0 || code === "unrecognized_keys");
      if (ofFields.length > 0) return ofFields.flatMap((inner) => problemsOfIssue(config, inner, path));
      break;
    }
    case "invalid_key":
      return [`${field} must be ${issue.issues[0]?.message ?? issue.message}, not ${described(issue.path.at(-1))}`];
    default:
  }
  return [`${field} must be ${issue.message}, not ${described(valueAt(config, path))}`];
}

function valueAt(config: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key],
    config,
  );
}

/** A value as an error shows it. */
export function described(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "function") return "a function";
  return JSON.stringify(value);
}
