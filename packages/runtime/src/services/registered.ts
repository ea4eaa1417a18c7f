/**
 * The services that `createRadical` was given. An isolate has one application, and its Worker answers calls whatever its own routes
 * are.
 */
import type { Manifest } from "@radical/protocol";
import type { Service } from "./perform.ts";

export type Services = Readonly<Record<string, Service<unknown>>>;

let registered: Services = {};

/** Throws a TypeError that names the services that are lacking, or that no source declares. */
export function registerServices(manifest: Manifest, services: Services): void {
  checkServices(manifest, services);
  registered = services;
}

export function registeredServices(): Services {
  return registered;
}

/** Throws a TypeError unless the Worker has the services of the module. */
export function checkServices({ services: declared = {} }: Manifest, services: Services = registered): void {
  const lacking = Object.keys(declared).filter((name) => typeof services[name] !== "function");
  const unknown = Object.keys(services).filter((name) => !Object.hasOwn(declared, name));
  if (lacking.length > 0)
    throw new TypeError(
      `The Worker lacks services that the sources declare: ${lacking.join(", ")}. Give createRadical each of them, as a function, when the Worker starts: createRadical({ services: { ${lacking[0]}: async (args, { key, env, signal }) => … } }).`,
    );
  if (unknown.length > 0)
    throw new TypeError(
      `createRadical has services that no source declares: ${unknown.join(", ")}. Declare them in a file that handlers import: /** @service */ export declare function ${unknown[0]}(…): …; or remove them.`,
    );
}
