/**
 * Functions of the SDK that expansions call. They have names that no developer can write, so that nothing in the source hides
 * them.
 */
import { as } from "./assemblyscript.ts";

const FILES = {
  toFixed: "decimals",
  numberOf: "decimals",
  quoted: "json",
  jsonOfFloat: "json",
  beginTask: "tasks",
  taskArgument: "tasks",
  nameLane: "tasks",
  enqueueTask: "tasks",
  startStep: "workflows",
  runStep: "workflows",
  undoStep: "workflows",
  goOnAgain: "workflows",
  sleepAt: "workflows",
  allDone: "workflows",
  sendSignal: "workflows",
  receiveSignal: "workflows",
  receiveWithin: "workflows",
} as const;

export type SdkFunction = keyof typeof FILES;

/** The files of the SDK with these functions. */
export const SDK_FUNCTION_FILES: readonly string[] = [...new Set(Object.values(FILES))].map((file) => `${file}.ts`);

/** Gives the functions their names, in a program whose elements are declared. */
export function nameSdkFunctions(program: as.Program, library: string): void {
  for (const [name, file] of Object.entries(FILES)) {
    const found = program.elementsByName.get(`${library}/${file}/${name}`);
    if (found === undefined) throw new Error(`the SDK has no ${file}/${name}`);
    program.elementsByName.set(hiddenName(name), found);
  }
}

function hiddenName(name: string): string {
  return `${name}@sdk`;
}

export function sdkCall(
  name: SdkFunction,
  args: as.Expression[],
  range: as.Range,
  typeArguments: as.TypeNode[] | null = null,
): as.CallExpression {
  const callee = as.Node.createIdentifierExpression(hiddenName(name), range);
  return as.Node.createCallExpression(callee, typeArguments, args, range);
}
