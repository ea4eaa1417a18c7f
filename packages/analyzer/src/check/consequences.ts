/**
 * Mistakes that follow from other mistakes. A build tells all mistakes of a file, and each of them once. A mistake in a
 * declaration makes errors of all that uses it, and a statement that does not parse hides the names that it declares.
 * These errors go away with their cause, so the build does not tell them.
 *
 * A mistake leaves *lost names* behind: the variable that it initializes, and the parameter, field or function whose
 * type it is in. A statement that does not parse loses the names that it declares. A declaration that depends on a lost
 * name is lost too. An error follows from a mistake if it is about a lost name, or about an expression that holds the
 * mistake.
 */
import type { DiagnosticCode } from "../diagnostics/catalogue.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { as, CommonFlags, NodeKind, Token } from "../parse/assemblyscript.ts";
import { childrenOf } from "../parse/children.ts";
import { nested, scan, type NestedToken, type ScannedToken } from "./scanner.ts";

/** The files as they were compiled, and the span of mistakes without a place. */
export interface Places {
  readonly sources: readonly as.Source[];
  readonly fallback: Span;
}

/** The diagnostics of the phases, in their order. */
export interface Found {
  /** Of the sources by themselves: all are told. */
  readonly checked: readonly Diagnostic[];
  /** Of names and types. */
  readonly compiled: readonly Diagnostic[];
  /** Of the functions that the code really calls, whatever types are lost. */
  readonly used: readonly Diagnostic[];
}

/** The diagnostics that do not follow from one before them. */
export function withoutConsequences({ checked, compiled, used }: Found, { sources, fallback }: Places): Diagnostic[] {
  const mistakes = new Mistakes(sources);
  for (const found of checked) mistakes.add(found);
  const isPlaced = ({ primary, code }: Diagnostic): boolean => primary !== fallback && code !== "compiler_crash";
  const told = [
    ...checked,
    ...compiled.filter((found) => isPlaced(found) && mistakes.tell(found)),
    ...used.filter((found) => isPlaced(found) && !mistakes.isNear(found)),
  ];
  // A crash, or a mistake without a place in the developer's files, follows from any other mistake.
  const isBroken = told.some(({ severity }) => severity === "error");
  return isBroken ? told : [...told, ...[...compiled, ...used].filter((found) => !isPlaced(found))];
}

/** A stretch of a file. */
type Stretch = Pick<Span, "file" | "start" | "end">;

/** The names that an expression or type is about. */
interface Subject {
  readonly names: Set<string>;
  /** The names of properties and fields. */
  readonly members: Set<string>;
}

/** A declaration that is lost if its type is, or without a written type its initial value. */
interface Derived extends Subject {
  readonly name: string;
  readonly isMember: boolean;
  readonly within: Stretch | null;
}

/** A name, and the function that it belongs to; null: it belongs to the program. */
interface Name {
  readonly name: string;
  readonly within: Stretch | null;
}

/** Codes of diagnostics that leave the meaning of each name as it was. */
const WITHOUT_CONSEQUENCES: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>([
  "duplicate_given_set",
  "duplicate_handler",
  "duplicate_index",
  "duplicate_record",
  "duplicate_table",
  "generic_handler",
  "generic_record",
  "given_set_effect",
  "given_set_only",
  "given_set_signature",
  "handler_not_function",
  "index_part",
  "infinite_record",
  "invalid_schedule",
  "invalid_handler_name",
  "invalid_index",
  "invalid_table_name",
  "misplaced_tag",
  "nested_record",
  "no_handlers",
  "private_field",
  "reserved_name",
  "schedule_signature",
  "table_not_constant",
  "unknown_given_handler",
  "unknown_tag",
  "unsupported_type",
]);

/** Forms that the parser does not know at all, with their texts. It takes parts of them for something else. */
const NEVER_PARSED: Partial<Record<DiagnosticCode, RegExp>> = {
  assertion_signature: /^/,
  class_form: /^using\b/,
  labeled_statement: /^/,
  local_declaration: /^namespace\b/,
  tuple_type: /^/,
  type_operator: /^(?::|satisfies\b)/,
};

class Mistakes {
  readonly #sources: ReadonlyMap<string, as.Source>;
  readonly #told: Diagnostic[] = [];
  readonly #lost: Name[] = [];
  readonly #lostMembers = new Set<string>();
  /** The variables that become lost with others; made at the first lost name. */
  #derived: readonly Derived[] | null = null;
  /** Names that a broken condition tests: nobody knows whether they are null behind it. */
  readonly #untested: Name[] = [];
  /** Statements and members that do not parse. */
  readonly #holes: Stretch[] = [];
  readonly #scanned = new Map<as.Source, readonly NestedToken[]>();

  constructor(sources: readonly as.Source[]) {
    this.#sources = new Map(sources.map((source) => [source.normalizedPath, source]));
  }

  /** Notes a mistake of the sources. */
  add(found: Diagnostic): void {
    this.#told.push(found);
    if (found.severity !== "error" || WITHOUT_CONSEQUENCES.has(found.code)) return;
    const path = this.#pathTo(found.primary);
    const container = path.findLastIndex(isContainer);
    this.#note(found.primary, this.#isNeverParsed(found) ? path.slice(0, container + 1) : path, true);
  }

  #isNeverParsed({ code, primary: { file, start } }: Diagnostic): boolean {
    const text = this.#sources.get(file)?.text ?? "";
    return NEVER_PARSED[code]?.test(text.slice(start)) === true;
  }

  #pathTo(place: Span): as.Node[] {
    const source = this.#sources.get(place.file);
    return source === undefined ? [] : pathTo(source, place);
  }

  /** Notes a mistake of the program. The answer says whether it is one of its own. */
  tell(found: Diagnostic): boolean {
    const path = this.#pathTo(found.primary);
    const follows = this.#follows(found, path);
    if (found.severity === "error" && !WITHOUT_CONSEQUENCES.has(found.code)) this.#note(found.primary, path, false);
    if (!follows) this.#told.push(found);
    return !follows;
  }

  // ── Errors that follow ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether it is at the place of another mistake, holds one, or is in code that does not parse. */
  isNear({ primary }: Diagnostic, path: readonly as.Node[] = this.#pathTo(primary)): boolean {
    const node = path.at(-1);
    const isPart = node !== undefined && !isContainer(node);
    // A member that is not there is one of the object before it.
    const around = path.at(-2);
    const start = around instanceof as.PropertyAccessExpression ? around.range.start : primary.start;
    for (const { primary: other, severity } of this.#told) {
      if (severity !== "error" || other.file !== primary.file) continue;
      if (other.start === primary.start) return true;
      if (isPart && start <= other.start && other.end <= primary.end) return true;
    }
    return this.#holes.some((hole) => contains(hole, primary));
  }

  #follows(found: Diagnostic, path: readonly as.Node[]): boolean {
    const { primary, message } = found;
    // Of forms that are refused.
    if (/'override' modifier/.test(message) || (/^duplicate identifier/i.test(message) && hasOverloads(path)))
      return true;
    if (this.#told.length === 0) return false;
    if (this.isNear(found, path)) return true;
    // The compiler has no type for an expression whose mistake it has told.
    if (/'<?auto>?'/.test(message)) return true;
    const around = functionAround(path);
    if (/must return a value/i.test(message) && around !== null && this.#holes.some((hole) => contains(around, hole)))
      return true;
    const { names, members } = subjectOf(path);
    if ([...members].some((member) => this.#lostMembers.has(member))) return true;
    const isAbout = (known: readonly Name[]): boolean =>
      known.some(({ name, within }) => names.has(name) && (within === null || contains(within, primary)));
    return isAbout(this.#lost) || (/\bnull\b/.test(message) && isAbout(this.#untested));
  }

  // ── Names that are lost ────────────────────────────────────────────────────────────────────────────────────────────

  /** `isForm`: the mistake is the form of the code, so the code around it may not have parsed. */
  #note(primary: Span, path: readonly as.Node[], isForm: boolean): void {
    const node = path.at(-1);
    if (node === undefined) return;
    if (node.kind === NodeKind.Try) {
      const { catchVariable } = node as as.TryStatement;
      if (catchVariable !== null) this.#lose({ name: catchVariable.text, within: functionAround(path) });
    }
    const whole = isForm ? path.find((candidate) => isRefused(candidate, primary)) : undefined;
    if (whole !== undefined) {
      this.#holes.push(stretchOf(whole));
      this.#lose({ name: (whole as as.DeclarationStatement).name.text, within: null });
    } else if (isForm && isContainer(node)) this.#noteHole(node, primary, path);
    for (let index = path.length - 2; index >= 0; index--)
      if (this.#noteIn(path[index]!, path[index + 1]!, path.slice(0, index + 1))) return;
  }

  /** Loses the names of `node` for a mistake in `child`. True: it reaches no further out. */
  #noteIn(node: as.Node, child: as.Node, path: readonly as.Node[]): boolean {
    const around = functionAround(path);
    switch (node.kind) {
      case NodeKind.VariableDeclaration: {
        const { name, type, initializer } = node as as.VariableDeclaration;
        if (child === type || (child === initializer && type === null)) this.#lose({ name: name.text, within: around });
        return false;
      }
      case NodeKind.FieldDeclaration: {
        const { name, type, initializer } = node as as.FieldDeclaration;
        if (child === type || (child === initializer && type === null)) this.#loseMember(name.text);
        return true;
      }
      case NodeKind.Parameter: {
        const { name, type } = node as as.ParameterNode;
        if (child === type) this.#lose({ name: name.text, within: around });
        return false;
      }
      case NodeKind.FunctionDeclaration:
      case NodeKind.MethodDeclaration: {
        const { name, signature, body } = node as as.FunctionDeclaration;
        const isExpression = path.at(-2)?.kind === NodeKind.Function;
        const isWritten = signature.returnType.range.start < signature.returnType.range.end;
        if (!isExpression && (child === signature || (child === body && !isWritten))) {
          if (node.kind === NodeKind.MethodDeclaration) this.#loseMember(name.text);
          else this.#lose({ name: name.text, within: null });
        }
        return !isExpression && child === body;
      }
      case NodeKind.Call:
      case NodeKind.New: {
        // The types of these parameters come from the call.
        for (const { declaration } of functionsIn((node as as.CallExpression | as.NewExpression).args))
          for (const { name, type } of declaration.signature.parameters)
            if (!isWrittenType(type)) this.#lose({ name: name.text, within: stretchOf(declaration) });
        return false;
      }
      case NodeKind.If: {
        const { condition } = node as as.IfStatement;
        const isBroken = child === condition || this.#holes.some((hole) => contains(stretchOf(node), hole));
        if (isBroken) for (const name of aboutOf(condition).names) this.#untested.push({ name, within: around });
        return false;
      }
      case NodeKind.TypeDeclaration:
      case NodeKind.EnumDeclaration:
      case NodeKind.ClassDeclaration:
      case NodeKind.InterfaceDeclaration: {
        const { name } = node as as.DeclarationStatement;
        const isMember = child.kind === NodeKind.FieldDeclaration || child.kind === NodeKind.MethodDeclaration;
        if (!isMember && child !== name) this.#lose({ name: name.text, within: null });
        return true;
      }
      case NodeKind.Import: {
        const { declarations, namespaceName } = node as as.ImportStatement;
        const names = [
          ...(declarations ?? []).map(({ name }) => name),
          ...(namespaceName === null ? [] : [namespaceName]),
        ];
        for (const { text } of names) this.#lose({ name: text, within: null });
        return true;
      }
      default:
        return false;
    }
  }

  /** A statement or member around the mistake did not parse. Its names are in the text only. */
  #noteHole(container: as.Node, primary: Span, path: readonly as.Node[]): void {
    const { source } = container.range;
    let { start, end } = container.range;
    for (const { range } of childrenOf(container)) {
      if (range.source.normalizedPath !== source.normalizedPath) continue;
      if (range.end <= primary.start) start = Math.max(start, range.end);
      if (range.start >= primary.end) end = Math.min(end, range.start);
    }
    const scanned = this.#scannedOf(source);
    const statement = statementAround(scanned, primary.start);
    const from = Math.min(start, statement.start);
    const to = Math.max(end, statement.end);
    // Comments around belong to the code that parses.
    const tokens = scanned.filter((token) => from <= token.start && token.end <= to);
    const hole = { file: source.normalizedPath, start: tokens[0]?.start ?? from, end: tokens.at(-1)?.end ?? to };
    if (this.#holes.some((known) => known.file === hole.file && known.start === hole.start && known.end === hole.end))
      return;
    this.#holes.push(hole);
    const isClass = container.kind === NodeKind.ClassDeclaration || container.kind === NodeKind.InterfaceDeclaration;
    const within = functionAround(path);
    for (const name of isClass ? [] : declaredIn(tokens)) this.#lose({ name, within });
    const mayEnd = tokens.some(({ text }) => ENDING.has(text));
    for (const { kind, text } of tokens) {
      if (isClass && kind === "string") this.#loseMember(text.slice(1, -1));
      if (kind !== "name") continue;
      if (isClass) this.#loseMember(text);
      else if (mayEnd) this.#untested.push({ name: text, within });
    }
  }

  /** The words of a source, which are looked at for each mistake. */
  #scannedOf(source: as.Source): readonly NestedToken[] {
    let scanned = this.#scanned.get(source);
    if (scanned === undefined) this.#scanned.set(source, (scanned = nested(scan(source.text))));
    return scanned;
  }

  #lose(name: Name): void {
    if (this.#lost.some((known) => known.name === name.name && isSame(known.within, name.within))) return;
    this.#lost.push(name);
    this.#loseDerived(
      ({ names, within }) => names.has(name.name) && (name.within === null || isIn(within, name.within)),
    );
  }

  #loseMember(name: string): void {
    if (this.#lostMembers.has(name)) return;
    this.#lostMembers.add(name);
    this.#loseDerived(({ members }) => members.has(name));
  }

  #loseDerived(isLost: (derived: Derived) => boolean): void {
    this.#derived ??= [...this.#sources.values()].flatMap((source) => derivedIn(source, null));
    for (const derived of this.#derived) {
      if (!isLost(derived)) continue;
      if (derived.isMember) this.#loseMember(derived.name);
      else this.#lose({ name: derived.name, within: derived.within });
    }
  }
}

/** The statement or member around a place of a text that does not parse. */
function statementAround(tokens: readonly NestedToken[], at: number): Pick<Span, "start" | "end"> {
  let index = tokens.findIndex(({ start }) => start >= at);
  if (index === -1) return { start: at, end: at };
  // Out of parentheses, brackets and object literals.
  for (let open = tokens[index]!.opener; open >= 0; open = tokens[open]!.opener) {
    const isBlock = tokens[open]!.text === "{" && !/^([=(,[?:]|return)$/.test(tokens[open - 1]?.text ?? "");
    if (isBlock) break;
    index = open;
  }
  const { opener } = tokens[index]!;
  const isEnd = (place: number): boolean => tokens[place]!.text === ";" || tokens[place]!.text === "}";
  let first = index;
  while (first - 1 > opener && !(tokens[first - 1]!.opener === opener && isEnd(first - 1))) first--;
  const closer = opener < 0 ? tokens.length : tokens[opener]!.closer!;
  let last = index;
  while (last < closer - 1 && !isEnd(last)) last = Math.min(tokens[last]!.closer ?? last + 1, closer - 1);
  return { start: tokens[first]!.start, end: tokens[last]!.end };
}

/** Whether a method has signatures without a body, which are refused. */
function hasOverloads(path: readonly as.Node[]): boolean {
  const method = path.findLast(({ kind }) => kind === NodeKind.MethodDeclaration) as as.MethodDeclaration | undefined;
  const owner = path.findLast(({ kind }) => kind === NodeKind.ClassDeclaration) as as.ClassDeclaration | undefined;
  const isSignature = (member: as.DeclarationStatement): boolean =>
    member.kind === NodeKind.MethodDeclaration &&
    member.name.text === method?.name.text &&
    (member as as.MethodDeclaration).body === null &&
    !member.is(CommonFlags.Abstract);
  return owner?.members.some(isSignature) === true;
}

/** Whether a form at the place is that of a declaration as a whole: its keyword is there. */
function isRefused(node: as.Node, { start }: Span): boolean {
  switch (node.kind) {
    case NodeKind.ClassDeclaration:
    case NodeKind.EnumDeclaration:
    case NodeKind.InterfaceDeclaration:
    case NodeKind.NamespaceDeclaration:
    case NodeKind.TypeDeclaration: {
      const { source, start: from } = node.range;
      return from <= start && /^(?:(?:export|declare|const|abstract)\s+)*$/.test(source.text.slice(from, start));
    }
    default:
      return false;
  }
}

/** The names that a text declares which does not parse. */
function declaredIn(tokens: readonly ScannedToken[]): string[] {
  const declared: string[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== "name" || !DECLARING.has(text)) continue;
    const next = tokens[index + 1];
    if (next?.kind === "name") declared.push(next.text);
    else if (next?.text === "{" || next?.text === "[")
      // A pattern, or the names of an import.
      for (let at = index + 2; at < tokens.length && !/^(=|of|from|;)$/.test(tokens[at]!.text); at++)
        if (tokens[at]!.kind === "name") declared.push(tokens[at]!.text);
  }
  return declared;
}

/** Words by which a statement ends more than itself: behind it, what it tests may be known. */
const ENDING: ReadonlySet<string> = new Set("abort return throw break continue".split(" "));

const DECLARING: ReadonlySet<string> = new Set(
  "let const var using function class interface enum namespace type import".split(" "),
);

/** The declarations with the names that their types depend on. */
function derivedIn(node: as.Node, within: Stretch | null): Derived[] {
  const inner = isFunction(node) ? stretchOf(node) : within;
  const found = childrenOf(node).flatMap((child) => derivedIn(child, inner));
  const add = ({ text }: as.IdentifierExpression, cause: as.Node | null, owner = within, isMember = false): void => {
    if (cause !== null) found.push({ name: text, isMember, within: owner, ...aboutOf(cause) });
  };
  switch (node.kind) {
    case NodeKind.VariableDeclaration: {
      const { name, type, initializer } = node as as.VariableDeclaration;
      add(name, type ?? initializer);
      break;
    }
    case NodeKind.FieldDeclaration: {
      const { name, type, initializer } = node as as.FieldDeclaration;
      add(name, type ?? initializer, null, true);
      break;
    }
    case NodeKind.Parameter: {
      const { name, type } = node as as.ParameterNode;
      if (isWrittenType(type)) add(name, type);
      break;
    }
    case NodeKind.FunctionDeclaration:
    case NodeKind.MethodDeclaration: {
      const { name, signature } = node as as.FunctionDeclaration;
      const types = [signature.returnType, ...signature.parameters.map(({ type }) => type)];
      for (const type of types) add(name, type, null, node.kind === NodeKind.MethodDeclaration);
      break;
    }
    case NodeKind.TypeDeclaration: {
      const { name, type } = node as as.TypeDeclaration;
      add(name, type, null);
      break;
    }
    case NodeKind.ForOf: {
      const { variable, iterable } = node as as.ForOfStatement;
      const declared = variable.kind === NodeKind.Variable ? (variable as as.VariableStatement).declarations : [];
      for (const { name } of declared) add(name, iterable);
      break;
    }
    case NodeKind.Call: {
      const { expression, args } = node as as.CallExpression;
      for (const { declaration } of functionsIn(args))
        for (const { name, type } of declaration.signature.parameters)
          if (!isWrittenType(type)) add(name, expression, stretchOf(declaration));
      break;
    }
    default:
      break;
  }
  return found;
}

// ── Subjects ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The subject of an error at the end of a path: the node there, and what says which type is wanted of it. */
function subjectOf(path: readonly as.Node[]): Subject {
  const subject: Subject = { names: new Set(), members: new Set() };
  let index = path.length - 1;
  // A function that is an expression has a declaration of its own at its place.
  if (path[index - 1]?.kind === NodeKind.Function) index--;
  // A property is one of an object, a name in a type one of a namespace.
  while (index > 0 && isProperty(path[index]!, path[index - 1]!)) index--;
  const node = path[index];
  if (node === undefined || node instanceof as.Statement || isContainer(node)) return subject;
  collect(node, subject);
  for (; index > 0; index--) {
    const around = path[index - 1]!;
    const at = path[index]!;
    switch (around.kind) {
      case NodeKind.Parenthesized:
      case NodeKind.Ternary:
        continue;
      case NodeKind.Literal: {
        if (!("names" in around)) continue;
        const { names, values } = around as as.ObjectLiteralExpression;
        const name = names[values.findIndex((value) => value === at)];
        if (name !== undefined) subject.members.add(name.text);
        continue;
      }
      case NodeKind.Call:
        if (at !== (around as as.CallExpression).expression) collect((around as as.CallExpression).expression, subject);
        return subject;
      case NodeKind.New:
        collect((around as as.NewExpression).typeName, subject);
        return subject;
      case NodeKind.Binary: {
        const { operator, left } = around as as.BinaryExpression;
        if (operator === Token.Equals && at !== left) collect(left, subject);
        return subject;
      }
      case NodeKind.VariableDeclaration:
      case NodeKind.Parameter:
        subject.names.add((around as as.VariableDeclaration | as.ParameterNode).name.text);
        return subject;
      case NodeKind.FieldDeclaration:
        subject.members.add((around as as.FieldDeclaration).name.text);
        return subject;
      case NodeKind.Return: {
        const declaration = path.slice(0, index).findLast(isFunction);
        if (declaration === undefined) return subject;
        const { text } = (declaration as as.FunctionDeclaration).name;
        (declaration.kind === NodeKind.MethodDeclaration ? subject.members : subject.names).add(text);
        return subject;
      }
      default:
        return subject;
    }
  }
  return subject;
}

function aboutOf(node: as.Node): Subject {
  const subject: Subject = { names: new Set(), members: new Set() };
  collect(node, subject);
  return subject;
}

function collect(node: as.Node, subject: Subject): void {
  switch (node.kind) {
    case NodeKind.Identifier:
      subject.names.add((node as as.IdentifierExpression).text);
      return;
    case NodeKind.PropertyAccess: {
      const { expression, property } = node as as.PropertyAccessExpression;
      subject.members.add(property.text);
      collect(expression, subject);
      return;
    }
    // Its body is about other things.
    case NodeKind.Function:
      return;
    default:
      for (const child of childrenOf(node)) collect(child, subject);
  }
}

// ── Nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The nodes around a place, from the file to the innermost one. */
function pathTo(source: as.Source, { start, end }: Span): as.Node[] {
  const path: as.Node[] = [source];
  for (let node: as.Node | undefined = source; node !== undefined;) {
    const isHere = ({ range }: as.Node): boolean =>
      range.source.normalizedPath === source.normalizedPath && range.start <= start && end <= range.end;
    node = childrenOf(node).find(isHere);
    if (node !== undefined) path.push(node);
  }
  return path;
}

/** Nodes that hold statements or members. */
function isContainer({ kind }: as.Node): boolean {
  return (
    kind === NodeKind.Source ||
    kind === NodeKind.Block ||
    kind === NodeKind.ClassDeclaration ||
    kind === NodeKind.InterfaceDeclaration ||
    kind === NodeKind.NamespaceDeclaration
  );
}

function isFunction({ kind }: as.Node): boolean {
  return kind === NodeKind.FunctionDeclaration || kind === NodeKind.MethodDeclaration;
}

function isProperty(node: as.Node, around: as.Node): boolean {
  if (around.kind === NodeKind.PropertyAccess) return (around as as.PropertyAccessExpression).property === node;
  return around.kind === NodeKind.TypeName || around.kind === NodeKind.NamedType;
}

function isWrittenType({ range }: as.TypeNode): boolean {
  return range.start < range.end;
}

function functionsIn(args: readonly as.Expression[]): as.FunctionExpression[] {
  return args.filter((argument): argument is as.FunctionExpression => argument.kind === NodeKind.Function);
}

function functionAround(path: readonly as.Node[]): Stretch | null {
  const declaration = path.find(isFunction);
  return declaration === undefined ? null : stretchOf(declaration);
}

function stretchOf({ range }: as.Node): Stretch {
  return { file: range.source.normalizedPath, start: range.start, end: range.end };
}

function contains(outer: Stretch, inner: Stretch): boolean {
  return outer.file === inner.file && outer.start <= inner.start && inner.end <= outer.end;
}

function isIn(inner: Stretch | null, outer: Stretch): boolean {
  return inner !== null && contains(outer, inner);
}

function isSame(left: Stretch | null, right: Stretch | null): boolean {
  return left === right || (left !== null && right !== null && contains(left, right) && contains(right, left));
}
