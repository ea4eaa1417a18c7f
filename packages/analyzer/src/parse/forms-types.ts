/**
 * The syntax of types as TypeScript has it, on top of the compiler's parser. It adds object types, unions of texts, and
 * optional members and parameters. It adds `{ [key: string]: T }`, `T | undefined`, tuples, and `x is T` as a result.
 *
 * Each form becomes nodes that the compiler knows, with the developer's ranges. `shapes.ts` declares the records that
 * object types stand for.
 */
import {
  as,
  CommonFlags,
  DiagnosticCode,
  IdentifierHandling,
  NodeKind,
  ParameterKind,
  Token,
} from "./assemblyscript.ts";
import { MOST_PARTS, tupleNode } from "./tuples.ts";
import { written } from "./written.ts";

/** `{ name: string; age?: number }`. Its name is given when the file is parsed to the end. */
export class ObjectTypeNode extends as.NamedTypeNode {
  readonly members: as.FieldDeclaration[];

  constructor(members: as.FieldDeclaration[], range: as.Range) {
    super(as.Node.createSimpleTypeName("", range), [], false, range);
    this.members = members;
  }
}

/** `"free" | "held"`: texts, and names of other unions of texts. To the compiler it is `string`. */
export class TextsNode extends as.NamedTypeNode {
  readonly parts: readonly (string | as.NamedTypeNode)[];

  constructor(parts: readonly (string | as.NamedTypeNode)[], range: as.Range) {
    super(as.Node.createSimpleTypeName("string", range), [], false, range);
    this.parts = parts;
    WITH_TEXTS.add(range.source);
  }
}

const WITH_TEXTS = new WeakSet<as.Source>();

/** Whether a source has unions of texts. */
export function hasTexts(source: as.Source): boolean {
  return WITH_TEXTS.has(source);
}

/** `x is T`. To the compiler it is `bool`. */
export class PredicateNode extends as.NamedTypeNode {
  readonly tested: as.TypeNode;

  constructor(tested: as.TypeNode, range: as.Range) {
    super(as.Node.createSimpleTypeName("bool", range), [], false, range);
    this.tested = tested;
  }
}

/** The types and members in a node that stands for a form of its own. */
export function partsOf(node: ObjectTypeNode | TextsNode | PredicateNode): readonly as.Node[] {
  if (node instanceof ObjectTypeNode) return node.members;
  return node instanceof TextsNode ? node.parts.filter((part) => typeof part !== "string") : [node.tested];
}

const OPTIONAL_MEMBERS = new WeakSet<as.Node>();

/** Whether a member is declared as `name?: T`. Its type is nullable then. */
export function isOptionalMember(declaration: as.Node): boolean {
  return OPTIONAL_MEMBERS.has(declaration);
}

/** Says of a member that is made from another one whether it is optional. */
export function markOptional(declaration: as.FieldDeclaration): as.FieldDeclaration {
  OPTIONAL_MEMBERS.add(declaration);
  return declaration;
}

const OPTIONAL_PARAMETERS = new WeakSet<as.Node>();

/** Whether a parameter is declared as `name?: T`. Its type is nullable then, and its default value null. */
export function isOptionalParameter(node: as.ParameterNode): boolean {
  return OPTIONAL_PARAMETERS.has(node);
}

const { _0_expected: EXPECTED } = DiagnosticCode;
const OPTIONAL_PROPERTY: number = DiagnosticCode.Optional_properties_are_not_supported;

/** The marks of a field of an interface that nobody sets. */
const INTERFACE_FIELD: CommonFlags = CommonFlags.Readonly | CommonFlags.Instance | CommonFlags.Overridden;

/** A parser that knows these forms of types. */
export class TypesParser extends as.Parser {
  /** Every object type, in the order in which they end. */
  readonly objectTypes: ObjectTypeNode[] = [];
  /** Every name of a type parameter of the file. */
  readonly typeParameterNames = new Set<string>();

  override parseType(
    tokenizer: as.Tokenizer,
    _acceptParenthesized?: boolean,
    suppressErrors = false,
  ): as.TypeNode | null {
    // A union may begin with a bar, so that its parts stand below each other.
    tokenizer.skip(Token.Bar);
    const first = this.#postfixType(tokenizer, suppressErrors);
    if (first === null || tokenizer.peek() !== Token.Bar) return first;
    const parts = [first];
    while (tokenizer.skip(Token.Bar)) {
      const part = this.#postfixType(tokenizer, suppressErrors);
      if (part === null) return null;
      parts.push(part);
    }
    return this.#union(parts, suppressErrors);
  }

  override parseTypeParameter(tokenizer: as.Tokenizer): as.TypeParameterNode | null {
    const parameter = super.parseTypeParameter(tokenizer);
    if (parameter !== null) this.typeParameterNames.add(parameter.name.text);
    return parameter;
  }

  override parseParameter(tokenizer: as.Tokenizer, isConstructor?: boolean): as.ParameterNode | null {
    const parameter = super.parseParameter(tokenizer, isConstructor);
    if (parameter === null || parameter.parameterKind !== ParameterKind.Optional || parameter.initializer !== null)
      return parameter;
    parameter.type.isNullable = true;
    parameter.initializer = written(as.Node.createNullExpression(parameter.name.range), "null");
    OPTIONAL_PARAMETERS.add(parameter);
    return parameter;
  }

  override parseClassMember(tokenizer: as.Tokenizer, parent: as.ClassDeclaration): as.Node | null {
    const getter = parent.kind === NodeKind.InterfaceDeclaration ? this.#getter(tokenizer) : null;
    if (getter !== null) return getter;
    const told = this.diagnostics.length;
    const member = super.parseClassMember(tokenizer, parent);
    const refused = this.diagnostics.findIndex(({ code }, index) => index >= told && code === OPTIONAL_PROPERTY);
    if (refused < 0 || member === null || member.kind !== NodeKind.FieldDeclaration) return member;
    const field = member as as.FieldDeclaration;
    if (field.type === null) {
      // A method; the rest follows from that.
      this.diagnostics.splice(refused + 1);
      return null;
    }
    // The compiler's parser goes on behind the question mark.
    this.diagnostics.splice(refused, 1);
    field.type.isNullable = true;
    return markOptional(field);
  }

  /** `get name(): T` of an interface, which is a field that nobody sets; null: something else follows. */
  #getter(tokenizer: as.Tokenizer): as.FieldDeclaration | null {
    const state = tokenizer.mark();
    const start = startOfNext(tokenizer);
    if (tokenizer.skip(Token.Get) && tokenizer.skipIdentifier(IdentifierHandling.Always)) {
      const name = as.Node.createIdentifierExpression(tokenizer.readIdentifier(), tokenizer.range());
      if (tokenizer.skip(Token.OpenParen) && tokenizer.skip(Token.CloseParen) && tokenizer.skip(Token.Colon)) {
        const type = this.parseType(tokenizer);
        if (!tokenizer.skip(Token.Semicolon)) tokenizer.skip(Token.Comma);
        const range = tokenizer.range(start, tokenizer.pos);
        return as.Node.createFieldDeclaration(name, null, INTERFACE_FIELD, type, null, range);
      }
    }
    tokenizer.reset(state);
    return null;
  }

  /** A type with what stands behind it: `[]`, as often as it does. */
  #postfixType(tokenizer: as.Tokenizer, suppressErrors: boolean): as.TypeNode | null {
    const start = startOfNext(tokenizer);
    let type = this.#primaryType(tokenizer, suppressErrors);
    while (type !== null && tokenizer.skip(Token.OpenBracket)) {
      const bracket = tokenizer.tokenPos;
      if (!tokenizer.skip(Token.CloseBracket)) {
        if (!suppressErrors) this.error(EXPECTED, tokenizer.range(), "]");
        return null;
      }
      const name = as.Node.createSimpleTypeName("Array", tokenizer.range(bracket, tokenizer.pos));
      type = as.Node.createNamedType(name, [type], false, tokenizer.range(start, tokenizer.pos));
    }
    return type;
  }

  #primaryType(tokenizer: as.Tokenizer, suppressErrors: boolean): as.TypeNode | null {
    switch (tokenizer.peek()) {
      case Token.OpenParen:
        return this.#parenthesizedType(tokenizer, suppressErrors);
      case Token.OpenBrace:
        return this.#objectType(tokenizer);
      case Token.OpenBracket:
        return this.#tupleType(tokenizer, suppressErrors);
      case Token.Readonly: {
        tokenizer.next();
        const start = tokenizer.tokenPos;
        const type = this.#postfixType(tokenizer, suppressErrors);
        if (type !== null) type.range.start = start;
        return type;
      }
      case Token.StringLiteral: {
        tokenizer.next();
        const start = tokenizer.tokenPos;
        return new TextsNode([tokenizer.readString()], tokenizer.range(start, tokenizer.pos));
      }
      case Token.Void:
        return this.#keyword(tokenizer, "void");
      case Token.This:
        return this.#keyword(tokenizer, "this");
      case Token.True:
      case Token.False:
        return this.#keyword(tokenizer, "bool");
      case Token.Null:
        return this.#keyword(tokenizer, "null");
      case Token.Identifier:
        return this.#namedType(tokenizer, suppressErrors);
      default:
        tokenizer.next();
        if (!suppressErrors) this.error(DiagnosticCode.Type_expected, tokenizer.range());
        return null;
    }
  }

  #keyword(tokenizer: as.Tokenizer, name: string): as.NamedTypeNode {
    tokenizer.next();
    const range = tokenizer.range();
    return as.Node.createNamedType(as.Node.createSimpleTypeName(name, range), [], false, tokenizer.range());
  }

  /** `(a: i32) => string`, or a type in parentheses. */
  #parenthesizedType(tokenizer: as.Tokenizer, suppressErrors: boolean): as.TypeNode | null {
    tokenizer.next();
    const start = tokenizer.tokenPos;
    const told = this.diagnostics.length;
    const signature = this.tryParseFunctionType(tokenizer);
    if (signature !== null || this.diagnostics.length > told) return signature;
    const type = this.parseType(tokenizer, true, suppressErrors);
    if (type === null) return null;
    if (!tokenizer.skip(Token.CloseParen)) {
      if (!suppressErrors) this.error(EXPECTED, tokenizer.range(tokenizer.pos), ")");
      return null;
    }
    type.range.start = start;
    type.range.end = tokenizer.pos;
    return type;
  }

  #namedType(tokenizer: as.Tokenizer, suppressErrors: boolean): as.TypeNode | null {
    tokenizer.next();
    const start = tokenizer.tokenPos;
    const told = this.diagnostics.length;
    const name = this.parseTypeName(tokenizer);
    if (name === null) {
      // `count < (limits.get(key) ?? 0)` has no type behind the sign.
      if (suppressErrors) this.diagnostics.length = told;
      return null;
    }
    if (name.next === null && tokenizer.peek() === Token.Is && !tokenizer.peekOnNewLine()) {
      tokenizer.next();
      const tested = this.parseType(tokenizer, true, suppressErrors);
      return tested === null ? null : new PredicateNode(tested, tokenizer.range(start, tokenizer.pos));
    }
    const parameters: as.TypeNode[] = [];
    if (tokenizer.skip(Token.LessThan)) {
      do {
        const parameter = this.parseType(tokenizer, true, suppressErrors);
        if (parameter === null) return null;
        parameters.push(parameter);
      } while (tokenizer.skip(Token.Comma));
      if (!tokenizer.skip(Token.GreaterThan)) {
        if (!suppressErrors) this.error(EXPECTED, tokenizer.range(tokenizer.pos), ">");
        return null;
      }
    }
    const range = tokenizer.range(start, tokenizer.pos);
    return as.Node.createNamedType(name, parameters, false, range);
  }

  /** `[A, B]`, also with names for the parts. */
  #tupleType(tokenizer: as.Tokenizer, suppressErrors: boolean): as.TypeNode | null {
    tokenizer.next();
    const start = tokenizer.tokenPos;
    const parts: as.TypeNode[] = [];
    let isFixed = true;
    while (!tokenizer.skip(Token.CloseBracket)) {
      if (tokenizer.skip(Token.Dot_Dot_Dot)) isFixed = false;
      if (!this.#skipPartName(tokenizer)) isFixed = false;
      const part = this.parseType(tokenizer, true, suppressErrors);
      if (part === null) return null;
      parts.push(part);
      if (tokenizer.skip(Token.Question)) isFixed = false;
      if (tokenizer.skip(Token.Comma)) continue;
      if (tokenizer.skip(Token.CloseBracket)) break;
      if (!suppressErrors) this.error(EXPECTED, tokenizer.range(tokenizer.pos), "]");
      return null;
    }
    const range = tokenizer.range(start, tokenizer.pos);
    const isTuple = isFixed && parts.length > 0 && parts.length <= MOST_PARTS;
    if (!isTuple && !suppressErrors) this.error(DiagnosticCode.Not_implemented_0, range, "such parts of tuples");
    return tupleNode(parts.slice(0, MOST_PARTS), range);
  }

  /** Skips `name:` in front of a part. False: the name says that the part is optional. */
  #skipPartName(tokenizer: as.Tokenizer): boolean {
    const state = tokenizer.mark();
    if (tokenizer.skipIdentifier(IdentifierHandling.Always)) {
      tokenizer.readIdentifier();
      if (tokenizer.skip(Token.Colon)) return true;
      if (tokenizer.skip(Token.Question) && tokenizer.skip(Token.Colon)) return false;
    }
    tokenizer.reset(state);
    return true;
  }

  /** `{ a: T; readonly b?: U }`, or `{ [key: string]: T }`, which is a map. */
  #objectType(tokenizer: as.Tokenizer): as.TypeNode | null {
    tokenizer.next();
    const start = tokenizer.tokenPos;
    const members: as.FieldDeclaration[] = [];
    while (!tokenizer.skip(Token.CloseBrace)) {
      if (members.length === 0 && tokenizer.skip(Token.OpenBracket)) return this.#indexed(tokenizer, start);
      const member = this.#member(tokenizer);
      if (member === null) {
        this.skipBlock(tokenizer);
        return null;
      }
      members.push(member);
      if (!tokenizer.skip(Token.Semicolon)) tokenizer.skip(Token.Comma);
    }
    const node = new ObjectTypeNode(members, tokenizer.range(start, tokenizer.pos));
    this.objectTypes.push(node);
    return node;
  }

  #indexed(tokenizer: as.Tokenizer, start: number): as.TypeNode | null {
    const expect = (token: Token, text: string): boolean => {
      if (tokenizer.skip(token)) return true;
      this.error(EXPECTED, tokenizer.range(tokenizer.pos), text);
      return false;
    };
    if (!tokenizer.skipIdentifier()) {
      this.error(DiagnosticCode.Identifier_expected, tokenizer.range());
      return null;
    }
    tokenizer.readIdentifier();
    const name = tokenizer.range();
    if (!expect(Token.Colon, ":")) return null;
    const key = this.parseType(tokenizer);
    if (key === null || !expect(Token.CloseBracket, "]") || !expect(Token.Colon, ":")) return null;
    const value = this.parseType(tokenizer);
    if (value === null) return null;
    if (!tokenizer.skip(Token.Semicolon)) tokenizer.skip(Token.Comma);
    if (!expect(Token.CloseBrace, "}")) return null;
    return mapType(key, value, name, tokenizer.range(start, tokenizer.pos));
  }

  #member(tokenizer: as.Tokenizer): as.FieldDeclaration | null {
    let flags: CommonFlags = CommonFlags.Instance;
    if (tokenizer.peek() === Token.Readonly) {
      const state = tokenizer.mark();
      tokenizer.next();
      const next = tokenizer.peek();
      if (next === Token.Colon || next === Token.Question) tokenizer.reset(state);
      else flags |= CommonFlags.Readonly;
    }
    if (!tokenizer.skip(Token.Identifier, IdentifierHandling.Always)) {
      tokenizer.next();
      this.error(DiagnosticCode.Identifier_expected, tokenizer.range());
      return null;
    }
    const start = tokenizer.tokenPos;
    const name = as.Node.createIdentifierExpression(tokenizer.readIdentifier(), tokenizer.range());
    const isOptional = tokenizer.skip(Token.Question);
    if (tokenizer.peek() === Token.OpenParen || tokenizer.peek() === Token.LessThan) {
      this.error(DiagnosticCode.Not_implemented_0, name.range, "methods of object types");
      return null;
    }
    if (!tokenizer.skip(Token.Colon)) {
      this.error(DiagnosticCode.Type_expected, tokenizer.range(tokenizer.pos));
      return null;
    }
    const type = this.parseType(tokenizer);
    if (type === null) return null;
    if (isOptional) type.isNullable = true;
    const range = tokenizer.range(start, tokenizer.pos);
    const field = as.Node.createFieldDeclaration(name, null, flags, type, null, range);
    return isOptional ? markOptional(field) : field;
  }

  /** `T | null`, `T | undefined`, texts; all else is refused. */
  #union(parts: readonly as.TypeNode[], suppressErrors: boolean): as.TypeNode | null {
    const some = parts.filter((part) => !isAbsent(part));
    const isNullable = some.length < parts.length || some.some((part) => part.isNullable);
    const [first, second] = some;
    // `null | null` is null.
    if (first === undefined) return parts[0]!;
    let type = first;
    if (second !== undefined) {
      const texts = some.flatMap((part): readonly (string | as.NamedTypeNode)[] =>
        part instanceof TextsNode ? part.parts : [part as as.NamedTypeNode],
      );
      const isText = some.some((part) => part instanceof TextsNode) && some.every(isNameOrTexts);
      const isBool = some.every((part) => isNamed(part, "bool"));
      if (!isText && !isBool) {
        if (!suppressErrors) this.error(DiagnosticCode.Not_implemented_0, second.range, "union types");
        return null;
      }
      if (isText) type = new TextsNode(texts, rangeOf(first, first.range.end));
    }
    type.range.start = parts[0]!.range.start;
    type.range.end = parts.at(-1)!.range.end;
    if (isNullable) type.isNullable = true;
    return type;
  }
}

/** `Record<string, T>`; another key is refused where the record crosses the boundary. */
function mapType(key: as.TypeNode, value: as.TypeNode, name: as.Range, range: as.Range): as.NamedTypeNode {
  return as.Node.createNamedType(as.Node.createSimpleTypeName("Record", name), [key, value], false, range);
}

function isNamed(type: as.TypeNode, name: string): boolean {
  if (type.kind !== NodeKind.NamedType) return false;
  const { identifier, next } = (type as as.NamedTypeNode).name;
  return next === null && identifier.text === name;
}

function isAbsent(type: as.TypeNode): boolean {
  return isNamed(type, "null") || isNamed(type, "undefined");
}

/** Whether it is a union of texts, or may be the name of one. */
function isNameOrTexts(type: as.TypeNode): boolean {
  if (type instanceof TextsNode) return true;
  if (type instanceof ObjectTypeNode || type.kind !== NodeKind.NamedType) return false;
  return ((type as as.NamedTypeNode).typeArguments ?? []).length === 0 && !isNamed(type, "string");
}

/** Where the next token begins. */
function startOfNext(tokenizer: as.Tokenizer): number {
  tokenizer.peek();
  return (tokenizer as unknown as { readonly nextTokenPos: number }).nextTokenPos;
}

function rangeOf(node: as.Node, end: number): as.Range {
  const { source, start } = node.range;
  const range = new as.Range(start, end);
  range.source = source;
  return range;
}
