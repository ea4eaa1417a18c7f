import { type HandlerManifest, type Manifest, RadicalError, withRoutes } from "@radical/protocol";
import { expect, test } from "vitest";
import { declarationOf, route } from "./call.ts";

const handler: HandlerManifest = {
  parameters: [],
  result: null,
  plan: "sliced",
  readOnly: false,
  file: "handlers/h.ts",
  line: 1,
};
const manifest = { handlers: { order: handler, mail: { ...handler, internal: true } } } as unknown as Manifest;
const post = (name: string): Request => new Request(`https://example.com/api/${name}`, { method: "POST" });

function refusalOf(action: () => unknown): RadicalError {
  try {
    action();
  } catch (error) {
    if (error instanceof RadicalError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

test("a handler with the tag @internal has no route, and no error names it", () => {
  expect(route(post("order"), manifest)).toBe("order");
  for (const method of ["GET", "POST"])
    expect(refusalOf(() => route(new Request("https://example.com/api/mail", { method }), manifest))).toMatchObject({
      code: "unknown_handler",
      hint: "Call one of these: order.",
    });
  expect(refusalOf(() => route(post("male"), manifest)).hint).toBe("Call one of these: order.");
});

test("the application's own code calls it by its name, and so do tests", () => {
  expect(declarationOf("mail", manifest).internal).toBe(true);
  expect(route(post("mail"), { ...manifest, testHooks: { routesInternal: true } })).toBe("mail");
});

test("clients are told of the handlers with a route", () => {
  expect(Object.keys(withRoutes(manifest).handlers)).toEqual(["order"]);
});

test("a handler that reads and takes a secret has no GET, by which the secret would stand in a URL", () => {
  const readOnly = { ...handler, readOnly: true };
  const password = { name: "password", type: { kind: "string" }, optional: false, secret: true } as const;
  const both = { handlers: { free: readOnly, check: { ...readOnly, parameters: [password] } } } as unknown as Manifest;
  const get = (name: string): Request => new Request(`https://example.com/api/${name}`);
  expect(route(get("free"), both)).toBe("free");
  expect(route(post("check"), both)).toBe("check");
  expect(refusalOf(() => route(get("check"), both))).toMatchObject({
    code: "method_not_allowed",
    message: '"check" takes a secret, which must not be in a URL.',
    allow: "POST",
  });
});
