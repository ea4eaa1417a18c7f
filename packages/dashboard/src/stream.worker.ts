/**
 * One stream for all tabs: browsers open six connections to an origin and no more. Shared by the tabs; ends with the last
 * one. A tab that comes later is sent what was kept.
 */
import { DASHBOARD_STREAM_PATH, DASHBOARD_TOKEN_HEADER, type DashboardLine, MAX_KEPT_LIVES } from "@radical/protocol";

const RETRY_MS = 1_000;

/** A tab is sent some lines, or whether the server is there. */
export type StreamMessage =
  | { readonly kind: "lines"; readonly lines: readonly DashboardLine[]; readonly isAnew: boolean }
  | { readonly kind: "connection"; readonly is: "open" | "closed" | "refused" };

type Tab = Pick<MessagePort, "postMessage">;

const tabs = new Set<Tab>();
let kept: DashboardLine[] = [];
let connection: StreamMessage = { kind: "connection", is: "closed" };
let token: string | null = null;

function tell(message: StreamMessage): void {
  for (const tab of tabs) tab.postMessage(message);
}

function take(lines: readonly DashboardLine[], isAnew: boolean): void {
  if (isAnew) kept = [];
  const states = lines.filter(({ kind }) => kind === "state");
  // Of states the last one counts.
  if (states.length > 0) kept = kept.filter(({ kind }) => kind !== "state");
  kept.push(...lines.filter(({ kind }) => kind !== "state"), ...states.slice(-1));
  if (kept.length > 2 * MAX_KEPT_LIVES + 1) kept.splice(0, MAX_KEPT_LIVES / 2);
  tell({ kind: "lines", lines, isAnew });
}

async function follow(): Promise<void> {
  for (;;) {
    const asked = token;
    if (asked !== null) await read(asked).catch(() => undefined);
    if (connection.kind === "connection" && connection.is === "open") {
      connection = { kind: "connection", is: "closed" };
      tell(connection);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function read(asked: string): Promise<void> {
  const response = await fetch(DASHBOARD_STREAM_PATH, { headers: { [DASHBOARD_TOKEN_HEADER]: asked } });
  connection = { kind: "connection", is: response.ok ? "open" : "refused" };
  tell(connection);
  if (!response.ok || response.body === null) return;
  let isAnew = true;
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    const lines = parts.filter((part) => part !== "").map((part) => JSON.parse(part) as DashboardLine);
    if (lines.length === 0) continue;
    take(lines, isAnew);
    isAnew = false;
  }
}

let hasBegun = false;

/** A tab has come. `given`: the token that it has. */
export function join(tab: Tab, given: string): void {
  token = given;
  tabs.add(tab);
  tab.postMessage(connection);
  if (kept.length > 0) tab.postMessage({ kind: "lines", lines: kept, isAnew: true } satisfies StreamMessage);
  if (hasBegun) return;
  hasBegun = true;
  void follow();
}

// A shared worker calls this; a page without one imports the module and joins itself.
if ("onconnect" in globalThis) {
  addEventListener("connect", (event) => {
    const [port] = (event as MessageEvent).ports;
    port?.addEventListener("message", ({ data }: MessageEvent<{ readonly token: string | null }>) => {
      if (data.token === null) tabs.delete(port);
      else join(port, data.token);
    });
    port?.start();
  });
}
