/** The calls that wrangler makes to upload a Worker, made in this process: what a failure at each of them does can be tried often. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CommandError } from "@radical/app/command-error";
import type { WranglerConfig } from "@radical/app";
import type { Wrangler } from "@radical/deploy/testing";
import type { FakeCloudflare } from "./fake-cloudflare.ts";

export function wranglerCalls({ url, token }: FakeCloudflare, account: string): Wrangler {
  const call = async (method: string, path: string, body: FormData | string | null): Promise<unknown> => {
    const refused = (words: string): CommandError => new CommandError("wrangler_failed", words, "run it again");
    const response = await fetch(`${url}/accounts/${account}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      body,
    }).catch((error: unknown) => {
      throw refused(String(error));
    });
    if (!response.ok) throw refused(await response.text());
    return ((await response.json()) as { readonly result: unknown }).result;
  };
  const makeTriggers = async ({ name, triggers }: WranglerConfig): Promise<void> => {
    await call("POST", `/workers/scripts/${name}/subdomain`, JSON.stringify({ enabled: true }));
    if (triggers?.crons === undefined) return;
    const schedules = triggers.crons.map((cron) => ({ cron }));
    await call("PUT", `/workers/scripts/${name}/schedules`, JSON.stringify(schedules));
  };
  return {
    version: "0",
    run: async (args) => {
      const option = (name: string): string => args[args.indexOf(name) + 1] ?? "";
      const path = option("--config");
      const config = JSON.parse(await readFile(path, "utf8")) as WranglerConfig;
      const command = args.filter((arg, index) => index < 2 && !arg.startsWith("--")).join(" ");
      if (command === "triggers deploy") {
        await makeTriggers(config);
        return { stdout: "", output: [] };
      }
      const secrets = args.includes("--secrets-file")
        ? (JSON.parse(await readFile(option("--secrets-file"), "utf8")) as Readonly<Record<string, string>>)
        : {};
      const form = new FormData();
      const tag = args.includes("--tag") ? { "workers/tag": option("--tag") } : {};
      const annotations = { ...tag, "workers/message": option("--message") };
      form.set("metadata", JSON.stringify({ ...metadataOf(config, secrets), annotations }));
      const { main = "" } = config;
      const code = await readFile(join(dirname(path), main));
      form.set(main, new Blob([code], { type: "application/javascript+module" }), main);
      const script = `/workers/scripts/${config.name}`;
      if (command === "versions upload") {
        const { id } = (await call("POST", `${script}/versions`, form)) as { readonly id: string };
        return { stdout: "", output: [{ type: "version-upload", version_id: id }] };
      }
      const { etag } = (await call("PUT", script, form)) as { readonly etag: string };
      await makeTriggers(config);
      return { stdout: "", output: [{ type: "deploy", version_id: etag }] };
    },
  };
}

function metadataOf(config: WranglerConfig, secrets: Readonly<Record<string, string>>): object {
  const services = (config["vpc_services"] ?? []) as readonly {
    readonly binding: string;
    readonly service_id: string;
  }[];
  const namespaces = (config["kv_namespaces"] ?? []) as readonly { readonly binding: string; readonly id: string }[];
  const buckets = (config["r2_buckets"] ?? []) as readonly { readonly binding: string; readonly bucket_name: string }[];
  const bindings = [
    ...Object.entries(config.vars ?? {}).map(([name, text]) => ({ name, type: "plain_text", text })),
    ...Object.entries(secrets).map(([name, text]) => ({ name, type: "secret_text", text })),
    ...namespaces.map(({ binding, id }) => ({ name: binding, type: "kv_namespace", namespace_id: id })),
    ...buckets.map(({ binding, bucket_name: name }) => ({ name: binding, type: "r2_bucket", bucket_name: name })),
    ...services.map(({ binding, service_id: id }) => ({ name: binding, type: "vpc_service", service_id: id })),
    ...(config.durable_objects?.bindings ?? []).map(({ name, class_name: className }) => ({
      name,
      type: "durable_object_namespace",
      class_name: className,
    })),
  ];
  const tag = config.migrations?.at(-1)?.tag;
  return {
    main_module: config.main,
    bindings,
    compatibility_date: config.compatibility_date,
    ...(tag === undefined ? {} : { migrations: { new_tag: tag, steps: config.migrations } }),
  };
}
