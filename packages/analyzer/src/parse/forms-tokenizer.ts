/** The tokens of TypeScript that AssemblyScript's tokenizer takes for two or more. */
import { Token, type as } from "./assemblyscript.ts";

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

/** The member of the tokenizer that is extended; private in its typings. */
interface TokenizerInternals {
  pos: number;
  unsafeNext(identifiers?: number, longest?: number): Token;
}

/** Not `a ?.5 : b`. */
const CHAIN = /\.(?!\d)/y;

/** From here on the tokenizer takes these tokens for what they are in TypeScript. */
export function teachForms(tokenizer: as.Tokenizer): void {
  const internals = tokenizer as unknown as TokenizerInternals;
  const unsafeNext = internals.unsafeNext.bind(tokenizer);
  const { text } = tokenizer.source;
  const took = (more: number, token: Token): Token => {
    internals.pos += more;
    return token;
  };
  internals.unsafeNext = (identifiers, longest) => {
    const token = unsafeNext(identifiers, longest);
    const { pos } = internals;
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
  };
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
