/**
 * The tokens of TypeScript that AssemblyScript's tokenizer takes for two or more. The tokenizer knows them in all files but those
 * of the library.
 *
 * The method of the one tokenizer is extended for good. The engine compiles the tokenizer for the shapes of objects that it
 * has met. A class or a method of its own for the developer's files would be another shape, and the library is parsed behind
 * these files. That took 1.8 times as long.
 */
import { as, Token } from "./assemblyscript.ts";

/** Above all tokens of the compiler. */
export const FormToken = {
  /** `?.` */
  QuestionDot: 2000 as unknown as Token,
  /** `??` */
  QuestionQuestion: 2001 as unknown as Token,
  /** `??=` */
  QuestionQuestionEquals: 2002 as unknown as Token,
  /** `||=` */
  BarBarEquals: 2003 as unknown as Token,
  /** `&&=` */
  AmpersandAmpersandEquals: 2004 as unknown as Token,
} as const;

/** Members of the tokenizer that are private in its typings. */
interface TokenizerInternals {
  readonly source: as.Source;
  pos: number;
  unsafeNext: (this: TokenizerInternals, identifiers?: number, longest?: number) => Token;
}

/** Not `a ?.5 : b`. */
const CHAIN = /\.(?!\d)/y;

const tokenizer = as.Tokenizer.prototype as unknown as TokenizerInternals;
const plainNext = tokenizer.unsafeNext;
tokenizer.unsafeNext = function (identifiers, longest): Token {
  const token = plainNext.call(this, identifiers, longest);
  return MAY_BE_OTHERS.has(token) && !this.source.isLibrary ? formAt(this, token) : token;
};

const MAY_BE_OTHERS: ReadonlySet<Token> = new Set([Token.Question, Token.Of, Token.Bar_Bar, Token.Ampersand_Ampersand]);

/** The token of TypeScript that begins with this one, or is it; the tokenizer goes behind it. */
function formAt(internals: TokenizerInternals, token: Token): Token {
  const { pos } = internals;
  const { text } = internals.source;
  const took = (more: number, other: Token): Token => {
    internals.pos += more;
    return other;
  };
  switch (token) {
    case Token.Question:
      if (text.startsWith("?=", pos)) return took(2, FormToken.QuestionQuestionEquals);
      if (text.startsWith("?", pos)) return took(1, FormToken.QuestionQuestion);
      CHAIN.lastIndex = pos;
      return CHAIN.test(text) ? took(1, FormToken.QuestionDot) : token;
    case Token.Of:
      // It is a name wherever a loop does not go on behind its variable.
      return isBehindVariable(text, pos - "of".length) ? token : took(-"of".length, Token.Identifier);
    case Token.Bar_Bar:
      return text.startsWith("=", pos) ? took(1, FormToken.BarBarEquals) : token;
    case Token.Ampersand_Ampersand:
      return text.startsWith("=", pos) ? took(1, FormToken.AmpersandAmpersandEquals) : token;
    default:
      return token;
  }
}

/** Whether a variable stands before a place, as it does before the `of` of a loop: `const x `, `{ a } `, `list[0] `. */
function isBehindVariable(text: string, at: number): boolean {
  const before = VARIABLE.exec(text.slice(Math.max(0, at - MOST_SEEN), at));
  return before !== null && !BEFORE_NAMES.has(before[1] ?? "");
}

const VARIABLE = /(?:([\w$]+)|[\]}])\s*$/;
/** Characters before a place; longer names are cut. */
const MOST_SEEN = 100;
/** Words that a name may follow. */
const BEFORE_NAMES: ReadonlySet<string> = new Set(
  "const let var function class enum namespace type return throw case else do in typeof void delete new as static get set public private protected readonly".split(
    " ",
  ),
);
