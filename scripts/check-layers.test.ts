import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkLayers } from "./check-layers.mjs";

const REPOSITORY = path.dirname(import.meta.dirname);

let root = "";

function write(file: string, text: string): void {
  const full = path.join(root, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, text);
}

const EXPORTS = { ".": "./src/index.ts", "./core": { source: "./src/core.ts" }, "./workers": "./src/workers.ts" };

/** A repository in which every layer stands and no rule is broken. */
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "radical-layers-"));
  const names = [
    "protocol",
    "wasm-host",
    "analyzer",
    "runtime",
    "lvi-server",
    "app",
    "deploy",
    "cli",
    "create-radical-app",
  ];
  const references = names.map((name) => ({ path: `packages/${name}` }));
  write("tsconfig.json", `// comment\n${JSON.stringify({ references })}`);
  write("tsconfig.tests.json", JSON.stringify({ references }));
  for (const name of names) {
    const published = name === "create-radical-app" ? name : `@radical/${name}`;
    write(`packages/${name}/package.json`, JSON.stringify({ name: published, exports: EXPORTS }));
    write(`packages/${name}/tsconfig.json`, JSON.stringify({ extends: "../../tsconfig.base.json" }));
  }
  write("packages/protocol/tsconfig.json", '{ "extends": "../../tsconfig.pure.json" }');
  for (const name of ["runtime", "lvi-server"]) {
    write(`packages/${name}/tsconfig.json`, '{ "references": [{ "path": "src/core" }] }');
    write(`packages/${name}/src/core/tsconfig.json`, '{ "extends": "../../../../tsconfig.pure.json" }');
    write(
      `packages/${name}/src/core/step.ts`,
      'import { unitId } from "@radical/protocol";\nimport type { AccessSet } from "@radical/wasm-host";\n',
    );
    write(`packages/${name}/src/main.ts`, 'import http from "node:http";\nimport { step } from "./core/step.ts";\n');
  }
  write(
    "packages/wasm-host/src/run.ts",
    'import { sha256 } from "@noble/hashes/sha2.js";\nnew WebAssembly.Instance(m);\n',
  );
  write("packages/analyzer/src/parse/compiler.ts", 'import assemblyscript from "assemblyscript";\n');
  write("packages/cli/src/router.worker.ts", 'import "./choice.ts";\nimport { DATE } from "@radical/app/workers";\n');
  write("packages/cli/src/choice.ts", 'import type { Project } from "@radical/app";\n');
  write(
    "packages/cli/src/program.ts",
    'import type { Step } from "@radical/deploy";\nconst { deploy } = await import("@radical/deploy");\n',
  );
  write(
    "packages/cli/src/dev.ts",
    'import { serve } from "@radical/lvi-server";\nimport { b } from "@radical/analyzer";\n',
  );
});

afterEach(() => rmSync(root, { recursive: true }));

test("a repository that keeps the rules has no problems", () => {
  expect(checkLayers(root)).toEqual([]);
});

const VIOLATIONS: readonly [file: string, text: string, problem: RegExp][] = [
  ["packages/protocol/src/a.ts", 'import { readFileSync } from "node:fs";', /protocol may not import "node:fs"/],
  ["packages/protocol/src/a.ts", 'export * from "@noble/hashes";', /protocol may not import "@noble\/hashes"/],
  ["packages/wasm-host/src/a.ts", 'import { z } from "zod";', /wasm-host may not import "zod"/],
  [
    "packages/wasm-host/src/a.ts",
    'import { x } from "@radical/runtime";',
    /wasm-host may not import @radical\/runtime/,
  ],
  [
    "packages/cli/src/a.ts",
    'import { LviCore } from "@radical/lvi-server/core";',
    /which @radical\/lvi-server does not publish/,
  ],
  ["packages/app/src/a.ts", 'import { deploy } from "@radical/deploy";', /app may not import @radical\/deploy/],
  [
    "packages/cli/src/a.ts",
    'import { S3Client } from "@aws-sdk/client-s3";',
    /only deploy may import @aws-sdk\/client-s3/,
  ],
  [
    "packages/cli/src/program.ts",
    'import { deploy } from "@radical/deploy";',
    /^packages\/cli\/src\/program\.ts:1: every command would load @radical\/deploy/,
  ],
  [
    "packages/cli/src/a.worker.ts",
    'import { DATE } from "@radical/app";',
    /^packages\/cli\/src\/a\.worker\.ts:1: .* import @radical\/app\/workers/,
  ],
  // A Worker loads it.
  [
    "packages/cli/src/choice.ts",
    'import { DATE } from "@radical/app";',
    /^packages\/cli\/src\/choice\.ts:1: .* import @radical\/app\/workers/,
  ],
  ["packages/analyzer/src/a.ts", 'import fs from "node:fs";', /analyzer may not import "node:fs"/],
  [
    "packages/analyzer/src/a.ts",
    'import { run } from "@radical/runtime";',
    /analyzer may not import @radical\/runtime/,
  ],
  [
    "packages/analyzer/src/emit/a.ts",
    'import a from "assemblyscript";',
    /only a file under packages\/analyzer\/src\/parse\//,
  ],
  [
    "packages/analyzer/src/parse/b.ts",
    'const a = await import("assemblyscript");',
    /one single file may import assemblyscript/,
  ],
  [
    "packages/runtime/src/a.ts",
    'import type { Lock } from "@radical/lvi-server";',
    /runtime may not import @radical\/lvi-server/,
  ],
  [
    "packages/lvi-server/src/a.ts",
    'import { w } from "@radical/runtime";',
    /lvi-server may not import @radical\/runtime/,
  ],
  [
    "packages/lvi-server/src/a.test.ts",
    'import { w } from "@radical/runtime";',
    /lvi-server may not import @radical\/runtime/,
  ],
  ["packages/runtime/src/core/a.ts", 'import { setTimeout } from "node:timers";', /a core imports "node:timers"/],
  [
    "packages/runtime/src/core/a.ts",
    'import { cache } from "../cache/port.ts";',
    /a core imports "\.\.\/cache\/port\.ts"/,
  ],
  [
    "packages/runtime/src/core/a.ts",
    'import { runHandler } from "@radical/wasm-host";',
    /only types from @radical\/wasm-host/,
  ],
  ["packages/runtime/src/a.ts", "\n/* 1 */ new WebAssembly.Instance(module);", /a\.ts: instantiates WebAssembly/],
  [
    "packages/create-radical-app/src/a.ts",
    'import "@radical/protocol";',
    /create-radical-app may not import @radical\/protocol/,
  ],
  [
    "packages/cli/src/a.ts",
    'import { x } from "@radical/lvi-server/src/core/step.ts";',
    /inner file "@radical\/lvi-server\/src/,
  ],
  ["packages/cli/src/a.ts", 'import { x } from "../../runtime/src/main.ts";', /outside its package/],
  ["packages/cli/src/a.ts", '\n\nimport { x } from "../../runtime/src/main.ts";', /^packages\/cli\/src\/a\.ts:3: /],
  ["packages/queue/package.json", '{ "name": "@radical/queue" }', /packages\/queue: no rule says what it may import/],
  [
    "packages/protocol/tsconfig.json",
    '{ "extends": "../../tsconfig.base.json" }',
    /a pure project extends tsconfig\.pure\.json/,
  ],
  [
    "packages/runtime/src/core/tsconfig.json",
    '{ "extends": "../../../../tsconfig.pure.json", "compilerOptions": { "types": ["node"] } }',
    /may not set "types"/,
  ],
  ["packages/runtime/tsconfig.json", '{ "references": [{ "path": "../protocol" }] }', /does not reference its core/],
  ["tsconfig.json", '{ "references": [] }', /tsconfig\.json: does not build packages\/protocol/],
  ["tsconfig.tests.json", '{ "references": [] }', /tsconfig\.tests\.json: does not build packages\/protocol/],
];

test.each(VIOLATIONS)("%s with %s is reported", (file, text, problem) => {
  write(file, text);
  expect(checkLayers(root)).toContainEqual(expect.stringMatching(problem));
});

test.each([
  ["packages/analyzer/src/a.ts", "export const emitted = 'import { Table } from \"node:fs\";';"],
  ["packages/analyzer/src/a.ts", '// import fs from "node:fs";\nexport {};'],
  ["packages/runtime/src/a.ts", "// only the host may call new WebAssembly.Instance(module)\nexport {};"],
  ["packages/analyzer/src/a.test.ts", 'import fs from "node:fs";\nimport { runHandler } from "@radical/wasm-host";'],
  ["packages/analyzer/src/testing/run.ts", 'import { runHandler } from "@radical/wasm-host";'],
  ["packages/runtime/src/core/a.test.ts", 'import fc from "fast-check";\nimport { step } from "./step.ts";'],
])("%s with %s is not", (file, text) => {
  write(file, text);
  expect(checkLayers(root)).toEqual([]);
});

describe("a pure project", () => {
  const compile = (text: string): string => {
    for (const config of ["tsconfig.base.json", "tsconfig.pure.json"]) {
      cpSync(path.join(REPOSITORY, config), path.join(root, config));
    }
    write("pure/tsconfig.json", '{ "extends": "../tsconfig.pure.json", "compilerOptions": { "noEmit": true } }');
    write("pure/code.mts", text);
    const tsc = path.join(REPOSITORY, "node_modules/.bin/tsc");
    return spawnSync(tsc, ["-p", path.join(root, "pure"), "--pretty", "false"], { encoding: "utf8" }).stdout;
  };

  test("sees the ES library", () => {
    expect(compile("export const a: Map<string, Promise<Uint8Array>> = new Map();")).toBe("");
  });

  test("does not see the platform", () => {
    const names = [
      "fetch",
      "setTimeout",
      "setInterval",
      "queueMicrotask",
      "process",
      "console",
      "WebAssembly",
      "crypto",
    ];
    const errors = compile(names.map((name, i) => `export const a${i} = ${name};`).join("\n"));
    for (const [i, name] of names.entries()) {
      expect(errors).toMatch(new RegExp(`code\\.mts\\(${i + 1},\\d+\\): error TS\\d+: Cannot find name '${name}'`));
    }
  });

  test("does not see Node's modules", () => {
    expect(compile('import "node:fs";')).toMatch(/TS2882.*node:fs/);
  });
});
