/** For tests: a file of handlers, run as the JavaScript that it is without its types, over a store of JSON. */
import { stripTypeScriptTypes } from "node:module";
import { compileFunction } from "node:vm";

/** How a call ends. */
export type Ending =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "abort"; readonly status: number; readonly code: string; readonly message: string }
  | { readonly kind: "trap" };

/** A call of a handler; the arguments are in order. */
export interface JavaScriptCall {
  readonly handler: string;
  readonly args: readonly unknown[];
  readonly caller: string | null;
  readonly timeMs: number;
}

type Handlers = Readonly<Record<string, (...args: unknown[]) => unknown>>;

class Abort extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class JavaScriptHandlers {
  readonly #handlers: Handlers;
  /** Items as JSON, by table and key. */
  #items = new Map<string, string>();
  #caller: string | null = null;
  #timeMs = 0;
  #draws = 0;

  constructor(source: string) {
    const names = [...source.matchAll(/^export function (\w+)/gm)].map(([, name]) => name);
    const text = stripTypeScriptTypes(source)
      .replace(/^import (\{.*\}) from "@radical\/sdk";$/m, "const $1 = sdk;")
      .replaceAll(/^export /gm, "");
    const load = compileFunction(`${text}\nreturn { ${names.join(", ")} };`, ["sdk"]) as (sdk: unknown) => Handlers;
    this.#handlers = load(this.#sdk());
  }

  /** Like a handler's, its writes count only if it comes to a result. */
  call({ handler, args, caller, timeMs }: JavaScriptCall): Ending {
    const before = new Map(this.#items);
    this.#caller = caller;
    this.#timeMs = timeMs;
    try {
      const result = this.#handlers[handler]!(...args);
      return { kind: "result", result: JSON.parse(JSON.stringify(result ?? null)) as unknown };
    } catch (error) {
      this.#items = before;
      if (!(error instanceof Abort)) return { kind: "trap" };
      const { status, code, message } = error;
      return { kind: "abort", status, code, message };
    }
  }

  #sdk(): Readonly<Record<string, unknown>> {
    const items = (): Map<string, string> => this.#items;
    return {
      Table: class {
        readonly #name: string;

        constructor(name: string) {
          this.#name = name;
        }

        get(key: string): unknown {
          return JSON.parse(items().get(this.#unit(key)) ?? "null");
        }

        has(key: string): boolean {
          return items().has(this.#unit(key));
        }

        put(key: string, value: unknown): void {
          items().set(this.#unit(key), JSON.stringify(value));
        }

        delete(key: string): void {
          items().delete(this.#unit(key));
        }

        #unit(key: string): string {
          return `${this.#name}/${key}`;
        }
      },
      abort: (status: number, code: string, message: string): never => {
        throw new Abort(status, code, message);
      },
      caller: () => this.#caller,
      now: () => this.#timeMs,
      uuid: () => `00000000-0000-4000-8000-${String(++this.#draws).padStart(12, "0")}`,
    };
  }
}
