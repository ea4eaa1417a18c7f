/** Names under which a source has the functions of the SDK: a call of one may be a form, and most calls are not. */
import { as } from "../assemblyscript.ts";

interface SdkNames {
  /** The name in the SDK, by the name in the source. */
  readonly functions: ReadonlyMap<string, string>;
  /** `sdk` in `import * as sdk from "@radical/sdk"`. */
  readonly namespaces: ReadonlySet<string>;
}

const NAMES = new WeakMap<as.Source, SdkNames>();
const NONE: SdkNames = { functions: new Map(), namespaces: new Set() };

/** By its imports, from whatever file. Of the library there are none. */
export function namesOf(source: as.Source): SdkNames {
  if (source.isLibrary) return NONE;
  let names = NAMES.get(source);
  if (names === undefined) {
    const imports = source.statements.filter((statement) => statement instanceof as.ImportStatement);
    const declared = imports.flatMap(({ declarations }) => declarations ?? []);
    names = {
      functions: new Map(declared.map(({ name, foreignName }) => [name.text, foreignName.text])),
      namespaces: new Set(imports.flatMap(({ namespaceName }) => (namespaceName === null ? [] : [namespaceName.text]))),
    };
    NAMES.set(source, names);
  }
  return names;
}

/** Whether a callee may be one of these functions of the SDK, as far as its words show it. */
export function isImported(
  callee: as.Expression,
  { functions, namespaces }: SdkNames,
  wanted: ReadonlySet<string>,
): boolean {
  if (callee instanceof as.IdentifierExpression) return wanted.has(functions.get(callee.text) ?? "");
  if (!(callee instanceof as.PropertyAccessExpression) || !wanted.has(callee.property.text)) return false;
  const { expression } = callee;
  return expression instanceof as.IdentifierExpression && namespaces.has(expression.text);
}
