/**
 * The keys as a parameter of AWS Systems Manager: for a server that has no file which somebody keeps fresh. It is read again every
 * half minute, so a rotation needs no restart.
 */
import { type Keys, parseKeys } from "./keys.ts";

const CLIENT = "@aws-sdk/client-ssm";

/** A look that takes longer has failed. */
const LOOK_MS = 10_000;

/** The one parameter. The region is that of the AWS SDK: AWS_REGION. */
export interface KeysParameter {
  readonly read: () => Promise<string>;
}

export async function openKeysParameter(name: string): Promise<KeysParameter> {
  const { GetParametersCommand, SSMClient } = await clientModule();
  const client = new SSMClient({});
  return parameterIn(
    async (abortSignal) => {
      const command = new GetParametersCommand({ Names: [name], WithDecryption: true });
      return (await client.send(command, { abortSignal })).Parameters?.[0]?.Value;
    },
    name,
    () => AbortSignal.timeout(LOOK_MS),
  );
}

/** `ask` rejects when its signal is aborted. `patience`: the signal of a look that begins now. */
export function parameterIn(
  ask: (signal: AbortSignal) => Promise<string | undefined>,
  name: string,
  patience: () => AbortSignal,
): KeysParameter {
  return {
    read: async () => {
      const value = await ask(patience());
      if (value === undefined) throw new Error(`There is no parameter ${name}.`);
      return value;
    },
  };
}

/** Large, and an optional package: loaded by whoever needs it. */
async function clientModule() {
  try {
    return await import("@aws-sdk/client-ssm");
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" || !String(message).includes(`'${CLIENT}'`)) throw error;
    throw new Error(
      `Keys in a parameter of AWS need the package ${CLIENT}, which is not installed. Install it: npm install ${CLIENT}`,
      { cause: error },
    );
  }
}

/** Throws if the first look fails: without keys nobody could be answered. */
export async function firstKeys(parameter: KeysParameter): Promise<{ readonly text: string; readonly keys: Keys }> {
  const text = await parameter.read();
  return { text, keys: parseKeys(text) };
}

export interface KeysFollower {
  /** Told the keys when they are others than before, or when somebody has asked for a look. */
  readonly onKeys: (keys: Keys) => void;
  /** The parameter is there and can't be used: what was accepted before still is. */
  readonly onWrong: (reason: string) => void;
  /** It could not be asked; the next look may succeed. */
  readonly onUnread: (reason: string) => void;
}

/** Gives the function that looks. Looks are one after the other: one for which nobody has asked is left out while another is under way. */
export function followKeys(
  parameter: KeysParameter,
  text: string,
  { onKeys, onWrong, onUnread }: KeysFollower,
): (isAsked: boolean) => Promise<void> {
  let before = text;
  let last = Promise.resolve();
  let underWay = 0;
  const look = async (isAsked: boolean): Promise<void> => {
    let fresh: string;
    try {
      fresh = await parameter.read();
    } catch (error) {
      return onUnread(error instanceof Error ? error.message : String(error));
    }
    if (fresh === before && !isAsked) return;
    before = fresh;
    try {
      onKeys(parseKeys(fresh));
    } catch (error) {
      onWrong(error instanceof Error ? error.message : String(error));
    }
  };
  return (isAsked) => {
    if (!isAsked && underWay > 0) return last;
    underWay++;
    return (last = last.then(() => look(isAsked)).finally(() => underWay--));
  };
}
