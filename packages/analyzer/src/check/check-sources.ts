/**
 * The checks that come before the compiler. They take the files that the handlers reach one by one, so that a mistake in one
 * file hides nothing in the others.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type Fix, type SourceFile } from "../diagnostics/diagnostic.ts";
import { type as, CommonFlags, NodeKind } from "../parse/assemblyscript.ts";
import type { NamedPlace } from "../parse/handlers.ts";
import { fromParser } from "../parse/messages.ts";
import { spanOfRange } from "../parse/span.ts";
import type { SyntaxTree, SyntaxTrees } from "../parse/syntax-trees.ts";
import { RESERVED_PREFIX } from "../schema/schema.ts";
import { checkForms } from "./forms.ts";
import { checkBrackets, checkNesting, overflowPlace } from "./nesting.ts";
import { scan } from "./scanner.ts";
import { checkScopes } from "./scopes.ts";
import { checkSteps, outsideOf } from "./steps.ts";

const SDK = "@radical/sdk";

export interface SourceCheck {
  readonly mistakes: readonly Diagnostic[];
  /** Code is nested so deeply that the phases behind this one can't bear it. */
  readonly tooDeep: boolean;
}

/** Checks the handler files and all that they import. */
export function checkSources(
  sources: readonly SourceFile[],
  handlerFiles: readonly string[],
  trees: SyntaxTrees,
  services: readonly NamedPlace[] = [],
): SourceCheck {
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const waiting = [...handlerFiles];
  const seen = new Set(waiting);
  const diagnostics: Diagnostic[] = [];
  let tooDeep = false;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = byPath.get(path);
    if (file === undefined) continue;
    const { deep, forms } = lookedAt(file, trees);
    if (deep !== null) {
      diagnostics.push(deep);
      tooDeep = true;
      continue;
    }
    const { source, messages } = trees.get(file.path, file.text);
    diagnostics.push(...forms, ...withoutFollowing(fromParser(messages, spanOf(file, 0, 0)), forms));
    diagnostics.push(
      ...checkNames(
        source,
        services.filter((service) => service.file === path),
      ),
    );
    for (const { specifier, internalPath } of importsOf(source)) {
      const problem = checkImport(specifier, internalPath, byPath);
      if (problem !== null) diagnostics.push(problem);
      const found = internalPath.startsWith("~lib/") ? undefined : fileAt(internalPath, byPath);
      if (found === undefined || seen.has(found)) continue;
      seen.add(found);
      waiting.push(found);
    }
  }
  return { mistakes: diagnostics, tooDeep };
}

/** The findings in a text by itself. */
interface Looks {
  readonly text: string;
  /** Code that is nested too deeply; then there is no tree, and nothing else is looked for. */
  readonly deep: Diagnostic | null;
  readonly forms: readonly Diagnostic[];
}

// Looked for once per text: scanning takes as long as parsing.
const LOOKS = new WeakMap<SyntaxTrees, Map<string, Looks>>();

function lookedAt(file: SourceFile, trees: SyntaxTrees): Looks {
  const ofTrees = LOOKS.get(trees) ?? new Map<string, Looks>();
  LOOKS.set(trees, ofTrees);
  const known = ofTrees.get(file.path);
  if (known?.text === file.text) return known;
  const tokens = scan(file.text);
  const overflows = (text: string): boolean => parsed(file.path, text, trees) === null;
  let deep = checkBrackets(file, tokens);
  const forms: Diagnostic[] = [];
  if (deep === null) {
    const tree = parsed(file.path, file.text, trees);
    deep = tree === null ? overflowPlace(file, overflows) : checkNesting(tree.source);
    if (tree !== null && deep === null) {
      const steps = checkSteps(file);
      forms.push(...steps, ...outsideOf(steps, file, checkForms(file, tokens)));
      if (tree.messages.length === 0) forms.push(...checkScopes(tree.source));
    }
  }
  const looks = { text: file.text, deep, forms };
  ofTrees.set(file.path, looks);
  return looks;
}

/** Null: the parser's stack overflowed. */
function parsed(path: string, text: string, trees: SyntaxTrees): SyntaxTree | null {
  try {
    return trees.get(path, text);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The parser's errors without those that come of a form that is named already: on its line, or without a name later. */
function withoutFollowing(errors: readonly Diagnostic[], forms: readonly Diagnostic[]): Diagnostic[] {
  const firstLine = Math.min(...forms.map((form) => form.primary.line));
  const lines = new Set(forms.map((form) => form.primary.line));
  return errors.filter(({ code, primary: { line } }) => {
    const isNamed = code !== "syntax_error" && code !== "missing_type";
    return line < firstLine || (isNamed && !lines.has(line));
  });
}

interface Import {
  readonly specifier: as.StringLiteralExpression;
  readonly internalPath: string;
}

function importsOf(source: as.Source): Import[] {
  const imports: Import[] = [];
  for (const statement of source.statements) {
    if (statement.kind === NodeKind.Import) {
      const { path, internalPath } = statement as as.ImportStatement;
      imports.push({ specifier: path, internalPath });
    } else if (statement.kind === NodeKind.Export) {
      const { path, internalPath } = statement as as.ExportStatement;
      if (path !== null && internalPath !== null) imports.push({ specifier: path, internalPath });
    }
  }
  return imports;
}

function fileAt(internalPath: string, byPath: ReadonlyMap<string, SourceFile>): string | undefined {
  return [`${internalPath}.ts`, `${internalPath}/index.ts`].find((path) => byPath.has(path));
}

function checkImport(
  specifier: as.StringLiteralExpression,
  internalPath: string,
  byPath: ReadonlyMap<string, SourceFile>,
): Diagnostic | null {
  const primary = spanOfRange(specifier.range);
  const text = specifier.value;
  if (text === SDK) return null;
  if (text.startsWith(`${SDK}/`)) {
    return diagnostic("sdk_internal", {
      message: `The file ${JSON.stringify(text)} is internal to the SDK, and can change without notice.`,
      primary,
      help: `Import from the SDK itself: \`import { Table, abort, caller, now, random, uuid } from "${SDK}";\`.`,
    });
  }
  if (!text.startsWith(".")) {
    return diagnostic("package_import", {
      message: `A handler can't import ${JSON.stringify(text)}, because packages of npm are not compiled to WebAssembly.`,
      primary,
      help: `Write the function in a file of your own, and import that by its relative path. The only package that handlers import is \`${SDK}\`.`,
    });
  }
  if (fileAt(internalPath, byPath) !== undefined) return null;
  return diagnostic("import_not_found", {
    message: `The imported file ${internalPath}.ts does not exist.`,
    primary,
    help: 'Write the path relative to this file, without an extension: `import { User } from "../lib/models";`.',
    fix: withoutExtension(specifier),
  });
}

/** As TypeScript for Node wants paths, they have the extension of JavaScript. */
function withoutExtension({ range, value }: as.StringLiteralExpression): Fix | undefined {
  const path = value.replace(/\.[cm]?js$/, "");
  if (path === value) return undefined;
  return {
    title: "Import without the extension",
    edits: [{ span: spanOfRange(range), text: JSON.stringify(path) }],
  };
}

/** Declarations at the top of a file: no generated names, nothing that only the host could provide. */
function checkNames(source: as.Source, services: readonly NamedPlace[]): Diagnostic[] {
  const found: Diagnostic[] = [];
  for (const declaration of topDeclarations(source.statements)) {
    const { name, flags } = declaration;
    if (name.text.startsWith(RESERVED_PREFIX)) {
      found.push(
        diagnostic("reserved_name", {
          message: `The name ${name.text} is reserved: names that start with ${RESERVED_PREFIX} belong to the code of the build.`,
          primary: spanOfRange(name.range),
          help: "Choose a name that starts otherwise.",
        }),
      );
    }
    const isService = services.some(({ start }) => start === name.range.start);
    if ((flags & CommonFlags.Declare) !== 0 && !isService) {
      found.push(
        diagnostic("host_import", {
          message: `A handler can't declare ${name.text}, because the host has no functions and variables but those of the SDK.`,
          primary: spanOfRange(name.range),
          help: "Write the function in a file of the application. For one that the application's Worker has, write `/** @service */` before it.",
        }),
      );
    }
  }
  return found;
}

function topDeclarations(statements: readonly as.Statement[]): as.DeclarationStatement[] {
  return statements.flatMap((statement) => {
    switch (statement.kind) {
      case NodeKind.ExportDefault:
        return [(statement as as.ExportDefaultStatement).declaration];
      case NodeKind.Variable:
        return (statement as as.VariableStatement).declarations;
      case NodeKind.ClassDeclaration:
      case NodeKind.EnumDeclaration:
      case NodeKind.FunctionDeclaration:
      case NodeKind.InterfaceDeclaration:
      case NodeKind.NamespaceDeclaration:
      case NodeKind.TypeDeclaration:
        return [statement as as.DeclarationStatement];
      default:
        return [];
    }
  });
}
