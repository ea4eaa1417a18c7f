/** Questions about code that is being compiled. An answer changes nothing, and reports nothing. */
import { as, ElementKind, NodeKind, ReportMode } from "./assemblyscript.ts";
import { withoutParentheses } from "./children.ts";

/** The compiler, as far as it is asked. */
interface AskedCompiler {
  readonly program: as.Program;
  readonly resolver: as.Resolver;
  readonly currentFlow: as.Flow;
}

export class Questions {
  readonly #compiler: AskedCompiler;

  constructor(compiler: AskedCompiler) {
    this.#compiler = compiler;
  }

  /** Null: the compiler can't tell. */
  typeOf(node: as.Expression, context: as.Type): as.Type | null {
    return this.#quietly(({ resolver, currentFlow }) =>
      resolver.resolveExpression(node, currentFlow, context, ReportMode.Swallow),
    );
  }

  /** The element that an expression names. For a function this is its prototype. */
  lookUp(node: as.Expression): as.Element | null {
    return this.#quietly(({ resolver, currentFlow }) => {
      const found = resolver.lookupExpression(node, currentFlow, as.Type.auto, ReportMode.Swallow);
      return found?.kind === ElementKind.Function ? (found as as.Function).prototype : found;
    });
  }

  /** The variable that an expression names; null: it names none. */
  localOf(expression: as.Expression): as.Local | null {
    const node = withoutParentheses(expression);
    if (node.kind !== NodeKind.Identifier) return null;
    return this.#compiler.currentFlow.lookupLocal((node as as.IdentifierExpression).text);
  }

  /** The resolver remembers the object of the last access, and reports. */
  #quietly<Result>(ask: (compiler: AskedCompiler) => Result): Result {
    const { resolver, program } = this.#compiler;
    const { currentThisExpression, currentElementExpression } = resolver;
    const reported = program.diagnostics.length;
    const answer = ask(this.#compiler);
    program.diagnostics.length = reported;
    resolver.currentThisExpression = currentThisExpression;
    resolver.currentElementExpression = currentElementExpression;
    return answer;
  }
}
