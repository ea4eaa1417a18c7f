/** The classes of the SDK for workflows, and the declarations of signals: `const approved = new Signal<Approval>("approved")`. */
import { as, CommonFlags, NodeKind, ReportMode } from "./assemblyscript.ts";

export const WORKFLOWS_LIBRARY = "~lib/@radical/sdk/workflows";
export const SIGNAL = `${WORKFLOWS_LIBRARY}/Signal`;
export const FUTURE = `${WORKFLOWS_LIBRARY}/Future`;

export interface DeclaredSignal {
  readonly declaration: as.VariableDeclaration;
  readonly made: as.NewExpression;
  readonly file: as.File;
}

/** The constants at the top of files that hold signals with literal names. */
export function signalsIn({ filesByName, resolver }: as.Program): readonly DeclaredSignal[] {
  return [...filesByName.values()].flatMap((file) => {
    if (file.source.isLibrary) return [];
    const statements = file.source.statements.filter((one) => one.kind === NodeKind.Variable) as as.VariableStatement[];
    return statements.flatMap(({ declarations }) =>
      declarations.flatMap((declaration): readonly DeclaredSignal[] => {
        const { initializer, flags } = declaration;
        if (initializer?.kind !== NodeKind.New || (flags & CommonFlags.Const) === 0) return [];
        const made = initializer as as.NewExpression;
        const element = resolver.resolveTypeName(made.typeName, null, file, ReportMode.Swallow);
        const hasName = made.args[0] instanceof as.StringLiteralExpression;
        return element?.internalName === SIGNAL && hasName ? [{ declaration, made, file }] : [];
      }),
    );
  });
}

/** The literal name of a signal that a global holds; null: it holds another value. */
export function signalName({ declaration }: as.Global): string | null {
  const { initializer } = declaration as as.VariableDeclaration;
  if (initializer?.kind !== NodeKind.New) return null;
  const [name] = (initializer as as.NewExpression).args;
  return name instanceof as.StringLiteralExpression ? name.value : null;
}
