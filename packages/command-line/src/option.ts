/** The kinds of options that a command can have, and the values that they give. */

export type Option =
  /** `--json`. The name `noWatch` makes the flag `--no-watch`. */
  | (Described & { readonly kind: "flag" })
  /** `--exit-with-parent [yes|no]`: a flag that an environment variable can give too. By default no. */
  | (Described & { readonly kind: "switch" })
  /** An integer, or with `fraction` any decimal number. Without a default it is null when nobody gives it. */
  | (Described & {
      readonly kind: "number";
      readonly default?: number;
      /** The default beside the flag `--quick`, if it is another. */
      readonly quick?: number;
      readonly least: number;
      readonly most?: number;
      readonly fraction?: true;
      /** A percent sign may follow it. */
      readonly percent?: true;
      /** The placeholder in the help, by default `number`. */
      readonly unit?: string;
    })
  /** An integer; by default any, which the command is to tell. */
  | (Described & { readonly kind: "seed" })
  | (Described & {
      readonly kind: "text";
      readonly placeholder: string;
      readonly default?: string;
      /** The value of the text; throws a `WrongValue`. */
      readonly parse?: (text: string) => unknown;
      /** The text as logs and messages may have it; by default as it is. */
      readonly shown?: (text: string) => string;
    })
  /** One of these; by default the first, or with `default: null` none. */
  | (Described & {
      readonly kind: "choice";
      readonly of: readonly string[];
      readonly default?: string | null;
      /** The word of the option without a word: `--emit-ir` is `--emit-ir all`. */
      readonly alone?: string;
      /** The placeholder in the help, by default `word`. */
      readonly placeholder?: string;
    })
  /** Given several times; by default empty. */
  | (Described & { readonly kind: "list"; readonly placeholder: string })
  /** A word without an option, in its place. With `of` it is one of these. */
  | { readonly kind: "operand"; readonly optional?: true; readonly of?: readonly string[]; readonly words: string }
  /** All other words without an option. With `of` it is some of these, in their order, and by default all. */
  | { readonly kind: "operands"; readonly of?: readonly string[]; readonly words: string };

interface Described {
  readonly words: string;
  /** One letter: `p` for `-p`. */
  readonly short?: string;
}

export type Options = Readonly<Record<string, Option>>;

export type Values<Known extends Options> = { readonly [Name in keyof Known]: ValueOf<Known[Name]> };

type ValueOf<Known extends Option> = Known extends { readonly kind: "flag" | "switch" }
  ? boolean
  : Known extends { readonly kind: "seed" }
    ? number
    : Known extends { readonly kind: "number" }
      ? number | Absent<Known>
      : Known extends { readonly kind: "text" }
        ? (Known extends { readonly parse: (text: string) => infer Value } ? Value : string) | Absent<Known>
        : Known extends { readonly kind: "choice"; readonly of: readonly (infer Word)[] }
          ? Word | (Known extends { readonly default: null } ? null : never)
          : Known extends { readonly kind: "operand" }
            ? OperandOf<Known> | (Known extends { readonly optional: true } ? null : never)
            : Known extends { readonly kind: "operands"; readonly of: readonly (infer Word)[] }
              ? readonly Word[]
              : readonly string[];

type OperandOf<Known> = Known extends { readonly of: readonly (infer Word)[] } ? Word : string;

type Absent<Known> = Known extends { readonly default: string | number } ? never : null;

/** A text that is not a value of its option. */
export class WrongValue extends Error {
  override readonly name = "WrongValue";
  /** Null: the sentence ends with the text itself. */
  readonly found: string | null;

  /**
   * The sentence about it is `--storage must <must>, and "<text>" <found>.`
   *
   * @param must for example `be an integer from 1 to 5`
   * @param found for example `names no file`
   */
  constructor(must: string, found: string | null = null) {
    super(must);
    this.found = found;
  }
}

/** `--lease-ms`, of `leaseMs`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The environment variable beside an option: `RADICAL_LEASE_MS`, of `leaseMs`. */
export function variableOf(prefix: string, name: string): string {
  return `${prefix}${flagOf(name).slice(1).replaceAll("-", "_").toUpperCase()}`;
}

/** An option that is given as one text. */
export type TextOption = Extract<Option, { readonly kind: "switch" | "number" | "seed" | "text" | "choice" }>;

/** Throws a `WrongValue`. */
export function valueOfText(option: TextOption, text: string): unknown {
  switch (option.kind) {
    case "switch":
      return oneOf(["yes", "no"], text) === "yes";
    case "number":
      return numberOf(option, text);
    case "seed":
      return numberOf({ least: 0 }, text);
    case "text":
      return option.parse === undefined ? text : option.parse(text);
    case "choice":
      return oneOf(option.of, text);
  }
}

/** Throws a `WrongValue`. */
export function oneOf(words: readonly string[], text: string): string {
  if (words.includes(text)) return text;
  throw new WrongValue(`be ${words.length === 1 ? "" : "one of "}${words.join(", ")}`);
}

interface Bounds {
  readonly least: number;
  readonly most?: number;
  readonly fraction?: true;
  readonly percent?: true;
}

function numberOf({ least, most, fraction, percent }: Bounds, given: string): number {
  const text = percent === true ? given.replace(/%$/, "") : given;
  const value = (fraction === true ? /^\d{1,15}(?:\.\d+)?$/ : /^\d{1,16}$/).test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= (most ?? Number.MAX_SAFE_INTEGER)) return value;
  throw new WrongValue(
    `be ${fraction === true ? "a number" : "an integer"} from ${least}${most === undefined ? "" : ` to ${most}`}`,
  );
}
