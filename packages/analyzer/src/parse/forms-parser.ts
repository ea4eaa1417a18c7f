/**
 * AssemblyScript's parser, which takes everyday forms of TypeScript too: `?.`, `??`, `??=`, `||=`, `&&=`, and patterns. Each
 * node has the range of the developer's text. Where an operand stands on the left already, the
 * parser gives it to itself as the start of the next expression (`#from`).
 */
import {
  as,
  AssertionKind,
  CommonFlags,
  DiagnosticCode,
  IdentifierHandling,
  NodeKind,
  ParameterKind,
  Precedence,
  Token,
} from "./assemblyscript.ts";
import { typeDefaults, typeField } from "./default-types.ts";
import { assigned, identifier, nothing } from "./expand/syntax.ts";
import {
  AssignIfExpression,
  BlockExpression,
  ChainExpression,
  NullishExpression,
  RecordSpreadExpression,
  type AssignIfOperator,
  type RecordPart,
} from "./forms-nodes.ts";
import { declarationsOf, heldBy, type Pattern, type PatternMember, type PatternPart } from "./forms-patterns.ts";
import { FormToken } from "./forms-tokenizer.ts";
import { TypesParser } from "./forms-types.ts";

/** Members of the parser that are private in its typings. */
interface ParserInternals {
  maybeParseCallExpression(tokenizer: as.Tokenizer, callee: as.Expression, mayBeGeneric?: boolean): as.Expression;
}

const WITHOUT_COMMA: Precedence = Precedence.Spread;
const ABOVE_OR: Precedence = Precedence.LogicalAnd;

const ASSIGNMENTS: ReadonlyMap<Token, AssignIfOperator> = new Map([
  [FormToken.QuestionQuestionEquals, "??"],
  [FormToken.BarBarEquals, "||"],
  [FormToken.AmpersandAmpersandEquals, "&&"],
]);

const ASSIGNABLE: ReadonlySet<NodeKind> = new Set([
  NodeKind.Identifier,
  NodeKind.PropertyAccess,
  NodeKind.ElementAccess,
]);

/** The patterns of variables of loops, by their declaration. */
const PATTERNS = new WeakMap<as.VariableDeclaration, Pattern>();

/** The pattern of the variable of a `for…of` loop; null: it has a name. */
export function patternOf(declaration: as.VariableDeclaration): Pattern | null {
  return PATTERNS.get(declaration) ?? null;
}

export class FormsParser extends TypesParser {
  /** The start of the next expression. */
  #pending: as.Expression | null = null;
  /** Patterns of the parameters of functions whose body is not parsed yet. */
  readonly #parameters = new Map<as.ParameterNode, Pattern>();

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  override parseExpression(tokenizer: as.Tokenizer, precedence: Precedence = Precedence.Comma): as.Expression | null {
    let expression = super.parseExpression(tokenizer, precedence);
    while (expression !== null) {
      const next = this.#form(tokenizer, expression, precedence);
      if (next === expression) return expression;
      expression = next === null ? null : this.#from(tokenizer, next, precedence);
    }
    return null;
  }

  override parseExpressionStart(tokenizer: as.Tokenizer): as.Expression | null {
    const pending = this.#pending;
    if (pending !== null) {
      this.#pending = null;
      return pending;
    }
    const token = tokenizer.peek();
    if (token === Token.OpenParen && startsPatternFunction(tokenizer.source.text, tokenizer.pos)) {
      tokenizer.next();
      return this.parseFunctionExpression(tokenizer);
    }
    if (token === Token.OpenBrace && hasSpreadOrComputed(tokenizer.source.text, tokenizer.pos)) {
      tokenizer.next();
      return this.#recordSpread(tokenizer);
    }
    if (token === Token.OpenBrace && isAssigned(tokenizer.source.text, tokenizer.pos)) {
      tokenizer.next();
      return this.#assignedRecord(tokenizer);
    }
    if (token === Token.Delete) {
      tokenizer.next();
      const { tokenPos } = tokenizer;
      const operand = this.parseExpression(tokenizer, Precedence.UnaryPrefix);
      return operand === null
        ? null
        : as.Node.createUnaryPrefixExpression(Token.Delete, operand, tokenizer.range(tokenPos, tokenizer.pos));
    }
    const start = super.parseExpressionStart(tokenizer);
    // There is one kind of nothing.
    if (start?.kind === NodeKind.Identifier && (start as as.IdentifierExpression).text === "undefined")
      return nothing(start.range);
    return start;
  }

  /** `{ ...record, field: value, [key]: value }`, behind the brace. */
  #recordSpread(tokenizer: as.Tokenizer): as.Expression | null {
    const start = tokenizer.tokenPos;
    const parts: RecordPart[] = [];
    while (!tokenizer.skip(Token.CloseBrace)) {
      const part = this.#recordPart(tokenizer);
      if (part === null) return null;
      parts.push(part);
      if (tokenizer.skip(Token.Comma)) continue;
      if (tokenizer.skip(Token.CloseBrace)) break;
      return this.#expected("}", tokenizer.range(tokenizer.pos));
    }
    const range = tokenizer.range(start, tokenizer.pos);
    const fields = parts.filter((part) => part.kind === "field");
    if (fields.length < parts.length) return new RecordSpreadExpression(parts, range);
    return as.Node.createObjectLiteralExpression(
      fields.map(({ name }) => name),
      fields.map(({ value }) => value),
      range,
    );
  }

  #recordPart(tokenizer: as.Tokenizer): RecordPart | null {
    if (tokenizer.skip(Token.Dot_Dot_Dot)) {
      const value = this.parseExpression(tokenizer, WITHOUT_COMMA);
      return value === null ? null : { kind: "spread", value };
    }
    if (tokenizer.skip(Token.OpenBracket)) {
      const key = this.parseExpression(tokenizer, WITHOUT_COMMA);
      if (key === null) return null;
      if (!tokenizer.skip(Token.CloseBracket)) return this.#expected("]", tokenizer.range());
      if (!tokenizer.skip(Token.Colon)) return this.#expected(":", tokenizer.range());
      const value = this.parseExpression(tokenizer, WITHOUT_COMMA);
      if (value === null) return null;
      // `["width"]: 2` names the field.
      return key instanceof as.StringLiteralExpression
        ? { kind: "field", name: identifier(key.value, key.range), value }
        : { kind: "entry", key, value };
    }
    const isQuoted = tokenizer.skip(Token.StringLiteral);
    if (!isQuoted && !tokenizer.skipIdentifier())
      return this.#expected("name of a field", tokenizer.range(tokenizer.pos));
    const text = isQuoted ? tokenizer.readString() : tokenizer.readIdentifier();
    const name = identifier(text, tokenizer.range());
    if (!isQuoted && !tokenizer.skip(Token.Colon))
      return { kind: "field", name, value: identifier(name.text, name.range) };
    if (isQuoted && !tokenizer.skip(Token.Colon)) return this.#expected(":", tokenizer.range());
    const value = this.parseExpression(tokenizer, WITHOUT_COMMA);
    return value === null ? null : { kind: "field", name, value };
  }

  /** `{ a, b: c = 1, d = 2 }` on the left of an assignment, behind the brace. A default is an assignment to its target. */
  #assignedRecord(tokenizer: as.Tokenizer): as.Expression | null {
    const start = tokenizer.tokenPos;
    const names: as.IdentifierExpression[] = [];
    const values: as.Expression[] = [];
    while (!tokenizer.skip(Token.CloseBrace)) {
      if (!tokenizer.skipIdentifier(IdentifierHandling.Always))
        return this.#expected("name of a member", tokenizer.range(tokenizer.pos));
      const name = as.Node.createIdentifierExpression(tokenizer.readIdentifier(), tokenizer.range());
      const isNamed = tokenizer.skip(Token.Colon);
      const isRecord = isNamed && tokenizer.skip(Token.OpenBrace);
      const target = isRecord
        ? this.#assignedRecord(tokenizer)
        : isNamed
          ? this.parseExpression(tokenizer, WITHOUT_COMMA)
          : identifier(name.text, name.range);
      if (target === null) return null;
      const value = tokenizer.skip(Token.Equals) ? this.#withDefault(tokenizer, target) : target;
      if (value === null) return null;
      names.push(name);
      values.push(value);
      if (tokenizer.skip(Token.Comma)) continue;
      if (tokenizer.skip(Token.CloseBrace)) break;
      return this.#expected("}", tokenizer.range(tokenizer.pos));
    }
    return as.Node.createObjectLiteralExpression(names, values, tokenizer.range(start, tokenizer.pos));
  }

  #withDefault(tokenizer: as.Tokenizer, target: as.Expression): as.Expression | null {
    const initial = this.parseExpression(tokenizer, WITHOUT_COMMA);
    return initial === null ? null : assigned(target, initial, tokenizer.range(target.range.start, tokenizer.pos));
  }

  /** Goes on behind an operand. */
  #from(tokenizer: as.Tokenizer, start: as.Expression, precedence: Precedence): as.Expression | null {
    this.#pending = start;
    return super.parseExpression(tokenizer, precedence);
  }

  /** One of the forms with the expression as its left operand; the expression itself: none follows. */
  #form(tokenizer: as.Tokenizer, left: as.Expression, precedence: Precedence): as.Expression | null {
    const token = tokenizer.peek();
    if (token === FormToken.QuestionDot) {
      tokenizer.next();
      return this.#chain(tokenizer, left);
    }
    if (token === FormToken.QuestionQuestion && precedence <= Precedence.LogicalOr) {
      tokenizer.next();
      const at = tokenizer.tokenPos;
      const right = this.parseExpression(tokenizer, ABOVE_OR);
      if (right === null) return null;
      const range = tokenizer.range(left.range.start, tokenizer.pos);
      if (isMixed(left) || isMixed(right) || tokenizer.peek() === Token.Bar_Bar)
        this.#expected("parentheses around one of ?? and ||, &&", range);
      return new NullishExpression(left, right, at, range);
    }
    const operator = ASSIGNMENTS.get(token);
    if (operator === undefined || precedence > Precedence.Assignment) return left;
    tokenizer.next();
    const at = tokenizer.tokenPos;
    const value = this.parseExpression(tokenizer, Precedence.Assignment);
    if (value === null) return null;
    if (!ASSIGNABLE.has(left.kind)) {
      this.error(DiagnosticCode.The_target_of_an_assignment_must_be_a_variable_or_a_property_access, left.range);
      return null;
    }
    return new AssignIfExpression(operator, left, value, at, tokenizer.range(left.range.start, tokenizer.pos));
  }

  /** Behind `object?.`. */
  #chain(tokenizer: as.Tokenizer, object: as.Expression): as.Expression | null {
    const { start } = object.range;
    const at = tokenizer.tokenPos;
    const held = identifier(`chain@${at}`, object.range);
    const behind = (): as.Range => tokenizer.range(start, tokenizer.pos);
    const internals = this as unknown as ParserInternals;
    const called = (callee: as.Expression, mayBeGeneric: boolean): as.Expression =>
      internals.maybeParseCallExpression(tokenizer, callee, mayBeGeneric);
    let rest: as.Expression;
    if (tokenizer.skip(Token.OpenBracket)) {
      const index = this.parseExpression(tokenizer);
      if (index === null) return null;
      if (!tokenizer.skip(Token.CloseBracket)) return this.#expected("]", tokenizer.range());
      rest = called(as.Node.createElementAccessExpression(identifier(held.text, object.range), index, behind()), false);
    } else if (tokenizer.peek() === Token.OpenParen) {
      rest = called(identifier(held.text, object.range), false);
    } else if (tokenizer.skipIdentifier(IdentifierHandling.Always)) {
      const name = as.Node.createIdentifierExpression(tokenizer.readIdentifier(), tokenizer.range());
      rest = called(as.Node.createPropertyAccessExpression(identifier(held.text, object.range), name, behind()), true);
    } else {
      return this.#expected("name of a member", tokenizer.range());
    }
    const whole = this.#from(tokenizer, rest, Precedence.MemberAccess);
    return whole === null ? null : new ChainExpression(object, held, whole, behind());
  }

  // ── Patterns ───────────────────────────────────────────────────────────────────────────────────────────────────────

  override parseVariable(
    tokenizer: as.Tokenizer,
    flags: CommonFlags,
    decorators: as.DecoratorNode[] | null,
    start: number,
    isFor = false,
  ): as.VariableStatement | null {
    const statement = super.parseVariable(tokenizer, flags, decorators, start, isFor);
    if (statement === null) return null;
    statement.declarations = statement.declarations.flatMap((declaration) => {
      const pattern = PATTERNS.get(declaration);
      if (pattern === undefined || declaration.initializer === null) return [declaration];
      const parts = declarationsOf(pattern, declaration.name, flags);
      for (const part of parts) part.overriddenModuleName = declaration.overriddenModuleName;
      return [declaration, ...parts];
    });
    return statement;
  }

  override parseVariableDeclaration(
    tokenizer: as.Tokenizer,
    flags: CommonFlags,
    decorators: as.DecoratorNode[] | null,
    isFor = false,
  ): as.VariableDeclaration | null {
    if (!this.#startsPattern(tokenizer)) return super.parseVariableDeclaration(tokenizer, flags, decorators, isFor);
    const pattern = this.#pattern(tokenizer);
    if (pattern === null) return null;
    let type: as.TypeNode | null = null;
    if (tokenizer.skip(Token.Colon)) {
      type = this.parseType(tokenizer);
      if (type === null) return null;
    }
    let initializer: as.Expression | null = null;
    if (tokenizer.skip(Token.Equals)) {
      initializer = this.parseExpression(tokenizer, WITHOUT_COMMA);
      if (initializer === null) return null;
    } else if (!isFor) {
      return this.#expected("=", tokenizer.range(tokenizer.pos));
    }
    const range = tokenizer.range(pattern.range.start, tokenizer.pos);
    // The pattern takes the values apart: they need no common type.
    if (type === null && pattern.kind === "array" && initializer?.kind === NodeKind.Literal)
      initializer = as.Node.createAssertionExpression(AssertionKind.Const, initializer, null, initializer.range);
    const held: CommonFlags = (flags & ~CommonFlags.Let) | CommonFlags.Const;
    const declaration = as.Node.createVariableDeclaration(heldBy(pattern), decorators, held, type, initializer, range);
    PATTERNS.set(declaration, pattern);
    return declaration;
  }

  override parseParameter(tokenizer: as.Tokenizer, isConstructor = false): as.ParameterNode | null {
    if (!this.#startsPattern(tokenizer)) return super.parseParameter(tokenizer, isConstructor);
    const pattern = this.#pattern(tokenizer);
    if (pattern === null) return null;
    let type: as.TypeNode | null = as.Node.createOmittedType(tokenizer.range(tokenizer.pos));
    if (tokenizer.skip(Token.Colon)) type = this.parseType(tokenizer);
    if (type === null) return null;
    let initializer: as.Expression | null = null;
    if (tokenizer.skip(Token.Equals)) {
      initializer = this.parseExpression(tokenizer, WITHOUT_COMMA);
      if (initializer === null) return null;
    }
    const parameter = as.Node.createParameter(
      initializer === null ? ParameterKind.Default : ParameterKind.Optional,
      heldBy(pattern),
      type,
      initializer,
      tokenizer.range(pattern.range.start, tokenizer.pos),
    );
    this.#parameters.set(parameter, pattern);
    return parameter;
  }

  override parseFunction(
    tokenizer: as.Tokenizer,
    flags: CommonFlags,
    decorators: as.DecoratorNode[] | null,
    start: number,
  ): as.FunctionDeclaration | null {
    const declaration = super.parseFunction(tokenizer, flags, decorators, start);
    if (declaration !== null) typeDefaults(declaration, this.diagnostics);
    return this.#withParts(declaration);
  }

  override parseFunctionExpression(tokenizer: as.Tokenizer): as.FunctionExpression | null {
    const expression = super.parseFunctionExpression(tokenizer);
    this.#withParts(expression?.declaration ?? null);
    return expression;
  }

  override parseClassMember(tokenizer: as.Tokenizer, parent: as.ClassDeclaration): as.Node | null {
    const member = super.parseClassMember(tokenizer, parent);
    if (member instanceof as.FieldDeclaration) typeField(member, this.diagnostics);
    if (!(member instanceof as.FunctionDeclaration)) return member;
    typeDefaults(member, this.diagnostics);
    return this.#withParts(member);
  }

  /** The function, whose body begins with the parts of its parameters. */
  #withParts<Declaration extends as.FunctionDeclaration>(declaration: Declaration | null): Declaration | null {
    const body = declaration?.body ?? null;
    if (declaration === null || body === null) return declaration;
    const parts = declaration.signature.parameters.flatMap((parameter) => {
      const pattern = this.#parameters.get(parameter);
      if (pattern === undefined) return [];
      this.#parameters.delete(parameter);
      const all = declarationsOf(pattern, parameter.name, CommonFlags.Let);
      return all.length === 0 ? [] : [as.Node.createVariableStatement(null, all, pattern.range)];
    });
    if (parts.length === 0) return declaration;
    const { range } = body;
    if (body instanceof as.BlockStatement)
      declaration.body = as.Node.createBlockStatement([...parts, ...body.statements], range);
    else if (body instanceof as.ExpressionStatement)
      declaration.body = as.Node.createExpressionStatement(new BlockExpression(parts, body.expression, range));
    return declaration;
  }

  #startsPattern(tokenizer: as.Tokenizer): boolean {
    const token = tokenizer.peek();
    return token === Token.OpenBrace || token === Token.OpenBracket;
  }

  /** Null: there is a mistake in it, which is told. */
  #pattern(tokenizer: as.Tokenizer): Pattern | null {
    return tokenizer.skip(Token.OpenBrace) ? this.#recordPattern(tokenizer) : this.#arrayPattern(tokenizer);
  }

  #recordPattern(tokenizer: as.Tokenizer): Pattern | null {
    const start = tokenizer.tokenPos;
    const members: PatternMember[] = [];
    while (!tokenizer.skip(Token.CloseBrace)) {
      if (tokenizer.skip(Token.Dot_Dot_Dot)) {
        this.error(DiagnosticCode.Not_implemented_0, tokenizer.range(), "the rest of a record");
        return null;
      }
      if (!tokenizer.skipIdentifier()) return this.#expected("name of a member", tokenizer.range(tokenizer.pos));
      const property = as.Node.createIdentifierExpression(tokenizer.readIdentifier(), tokenizer.range());
      const part = tokenizer.skip(Token.Colon)
        ? this.#part(tokenizer)
        : this.#withInitial(tokenizer, identifier(property.text, property.range));
      if (part === null) return null;
      members.push({ property, part });
      if (tokenizer.skip(Token.Comma)) continue;
      if (tokenizer.skip(Token.CloseBrace)) break;
      return this.#expected("}", tokenizer.range(tokenizer.pos));
    }
    return { kind: "record", members, range: tokenizer.range(start, tokenizer.pos) };
  }

  #arrayPattern(tokenizer: as.Tokenizer): Pattern | null {
    tokenizer.skip(Token.OpenBracket);
    const start = tokenizer.tokenPos;
    const elements: (PatternPart | null)[] = [];
    let rest: PatternPart | null = null;
    while (!tokenizer.skip(Token.CloseBracket)) {
      if (tokenizer.peek() === Token.Comma) {
        elements.push(null);
      } else {
        const isRest = tokenizer.skip(Token.Dot_Dot_Dot);
        const part = this.#part(tokenizer);
        if (part === null) return null;
        if (isRest) rest = part;
        else elements.push(part);
      }
      if (rest === null && tokenizer.skip(Token.Comma)) continue;
      if (tokenizer.skip(Token.CloseBracket)) break;
      return this.#expected("]", tokenizer.range(tokenizer.pos));
    }
    return { kind: "array", elements, rest, range: tokenizer.range(start, tokenizer.pos) };
  }

  #part(tokenizer: as.Tokenizer): PatternPart | null {
    if (this.#startsPattern(tokenizer)) {
      const pattern = this.#pattern(tokenizer);
      return pattern === null ? null : this.#withInitial(tokenizer, pattern);
    }
    if (!tokenizer.skipIdentifier()) return this.#expected("name", tokenizer.range(tokenizer.pos));
    const name = as.Node.createIdentifierExpression(tokenizer.readIdentifier(), tokenizer.range());
    return this.#withInitial(tokenizer, name);
  }

  #withInitial(tokenizer: as.Tokenizer, target: PatternPart["target"]): PatternPart | null {
    if (!tokenizer.skip(Token.Equals)) return { target, initial: null };
    const initial = this.parseExpression(tokenizer, WITHOUT_COMMA);
    return initial === null ? null : { target, initial };
  }

  // ── Mistakes ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #expected(what: string, range: as.Range): null {
    // oxlint-disable-next-line no-underscore-dangle -- the compiler's name of its message
    this.error(DiagnosticCode._0_expected, range, what);
    return null;
  }
}

/** Whether the parenthesis at a place opens the parameters of an arrow function with a pattern among them. */
function startsPatternFunction(text: string, at: number): boolean {
  PARAMETERS.lastIndex = at;
  if (!PARAMETERS.test(text)) return false;
  const end = closed(text, text.indexOf("(", at));
  return end !== null && isArrow(text, end);
}

/** Whether an arrow stands there, or a type of a result with an arrow behind it. Braces of the type may hold all but an arrow. */
function isArrow(text: string, at: number): boolean {
  const [start = ""] = /^\s*(?:=>|:)?/.exec(text.slice(at, at + 200)) ?? [];
  if (!start.endsWith(":")) return start.endsWith("=>");
  RESULT.lastIndex = at + start.length;
  let depth = 0;
  for (let found = RESULT.exec(text); found !== null; found = RESULT.exec(text)) {
    const { opened, isType } = parenthesesIn(found[0], depth);
    // The colon is that of a conditional, in parentheses that end here.
    if (!isType) return false;
    depth = opened;
    if (found[1] === "=>" && depth > 0) continue;
    if (found[1] !== "{") return found[1] === "=>";
    const end = closed(text, RESULT.lastIndex - 1);
    if (end === null) return false;
    RESULT.lastIndex = end;
  }
  return false;
}

/** How many parentheses are open behind the text, of so many before it. A type closes none that it has not opened. */
function parenthesesIn(text: string, before: number): { readonly opened: number; readonly isType: boolean } {
  let opened = before;
  for (const character of text) {
    if (character === "(") opened++;
    else if (character === ")" && --opened < 0) return { opened, isType: false };
  }
  return { opened, isType: true };
}

/** Up to the first pattern. */
const PARAMETERS = /\s*\(\s*(?:[\w$]+\s*(?::[^,(){}]*)?,\s*)*[{[]/y;
/** Up to the arrow, to a brace of the type before it, or to what says that there is none. */
const RESULT = /[^={};]*?(=>|[={};])/y;

const SPREAD_OR_COMPUTED = /^(?:\.\.\.|\[)$/;

/** Whether the brace at a place opens a literal with a spread or a computed name among its members. */
function hasSpreadOrComputed(text: string, at: number): boolean {
  const start = text.indexOf("{", at);
  const end = closed(text, start);
  if (end === null) return false;
  let depth = 0;
  BRACKETS.lastIndex = start;
  for (let found = BRACKETS.exec(text); found !== null && found.index < end; found = BRACKETS.exec(text)) {
    if (SPREAD_OR_COMPUTED.test(found[0]) && depth === 1 && /[{,]\s*$/.test(text.slice(start, found.index)))
      return true;
    if (OPENING.test(found[0])) depth++;
    else if (CLOSING.test(found[0])) depth--;
  }
  return false;
}

/** Whether the brace at a place opens a pattern on the left of an assignment. */
function isAssigned(text: string, at: number): boolean {
  const end = closed(text, text.indexOf("{", at));
  return end !== null && ASSIGNED.test(text.slice(end, end + 200));
}

const ASSIGNED = /^\s*=(?![=>])/;

/** Brackets, spreads, and what may contain some that are none. */
const BRACKETS = /[{}[\]()]|\.\.\.|\/\/.*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[^])*`/g;
const OPENING = /^[{[(]$/;
const CLOSING = /^[}\])]$/;

/** Behind the bracket that closes the one at a place; null: none does. */
function closed(text: string, start: number): number | null {
  BRACKETS.lastIndex = start;
  let depth = 0;
  for (let found = BRACKETS.exec(text); found !== null; found = BRACKETS.exec(text)) {
    if (OPENING.test(found[0])) depth++;
    else if (CLOSING.test(found[0]) && --depth === 0) return BRACKETS.lastIndex;
  }
  return null;
}

/** Whether the operand of `??` is one of `||` or `&&`, which JavaScript does not allow without parentheses. */
function isMixed(operand: as.Expression): boolean {
  if (operand.kind !== NodeKind.Binary) return false;
  const { operator } = operand as as.BinaryExpression;
  return operator === Token.Bar_Bar || operator === Token.Ampersand_Ampersand;
}
