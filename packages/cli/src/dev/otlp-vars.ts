import { OTLP_VARIABLES } from "@radical/protocol";

/** The variables of the developer's environment that name a collector of spans, for locations. The server reads the environment itself. */
export function otlpVars(environment: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  return Object.fromEntries(
    OTLP_VARIABLES.flatMap((name) => {
      const text = environment[name];
      return text === undefined ? [] : [[name, text]];
    }),
  );
}
