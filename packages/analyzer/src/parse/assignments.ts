/** The operators that change a variable, a member or an element. */
import { Token } from "./assemblyscript.ts";

/** `+=` and its like, which read the place first, with the operator that makes the new value. */
export const OPERATORS_OF_ASSIGNMENTS: ReadonlyMap<Token, Token> = new Map([
  [Token.Plus_Equals, Token.Plus],
  [Token.Minus_Equals, Token.Minus],
  [Token.Asterisk_Equals, Token.Asterisk],
  [Token.Asterisk_Asterisk_Equals, Token.Asterisk_Asterisk],
  [Token.Slash_Equals, Token.Slash],
  [Token.Percent_Equals, Token.Percent],
  [Token.LessThan_LessThan_Equals, Token.LessThan_LessThan],
  [Token.GreaterThan_GreaterThan_Equals, Token.GreaterThan_GreaterThan],
  [Token.GreaterThan_GreaterThan_GreaterThan_Equals, Token.GreaterThan_GreaterThan_GreaterThan],
  [Token.Ampersand_Equals, Token.Ampersand],
  [Token.Caret_Equals, Token.Caret],
  [Token.Bar_Equals, Token.Bar],
]);

/** `+=` and its like. */
export const COMPOUND_ASSIGNMENTS: ReadonlySet<Token> = new Set(OPERATORS_OF_ASSIGNMENTS.keys());

/** `=`, and the compound ones. `??=`, `||=` and `&&=` are nodes of their own: `AssignIfExpression`. */
export const ASSIGNMENTS: ReadonlySet<Token> = new Set([Token.Equals, ...COMPOUND_ASSIGNMENTS]);

/** `++` and `--`, before the place or behind it. */
export const INCREMENTS: ReadonlySet<Token> = new Set([Token.Plus_Plus, Token.Minus_Minus]);
