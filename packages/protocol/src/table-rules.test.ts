import { expect, test } from "vitest";
import { CborWriter } from "./cbor.ts";
import { MalformedError } from "./malformed-error.ts";
import {
  DEFAULT_LIMITS,
  decodeModuleContent,
  encodeModuleContent,
  leastAbi,
  type ModuleContent,
} from "./module-content.ts";

const CONTENT: ModuleContent = {
  abi: leastAbi([], { tables: true }),
  limits: DEFAULT_LIMITS,
  handlers: { f: { plan: "near-storage", tables: null } },
  tables: {
    accounts: { isPrivate: true, isAudited: false },
    both: { isPrivate: true, isAudited: true },
    money: { isPrivate: false, isAudited: true },
  },
  tasks: { f: { attempts: 3 } },
  wasm: Uint8Array.of(1),
  rwWasm: Uint8Array.of(2),
};

test("a module has the rules of its tables, in one form", () => {
  const bytes = encodeModuleContent(CONTENT);
  expect(decodeModuleContent(bytes)).toEqual(CONTENT);
  const { tables = {} } = CONTENT;
  const reversed = Object.fromEntries(Object.entries(tables).toReversed());
  expect(encodeModuleContent({ ...CONTENT, tables: reversed })).toEqual(bytes);
  const { tables: _, ...without } = CONTENT;
  expect(encodeModuleContent({ ...CONTENT, tables: {} })).toEqual(encodeModuleContent(without));
  expect(decodeModuleContent(encodeModuleContent(without))).toEqual(without);
});

test.each([
  ["a rule that says nothing", { accounts: { isPrivate: false, isAudited: false } }, /say nothing/],
  ["an index", { "accounts=mail": { isPrivate: true, isAudited: false } }, /not a table/],
  ["a hidden table", { ".blobs": { isPrivate: true, isAudited: false } }, /not a table/],
])("%s is malformed", (_, tables, words) => {
  const bytes = encodeModuleContent({ ...CONTENT, tables });
  expect(() => decodeModuleContent(bytes)).toThrow(MalformedError);
  expect(() => decodeModuleContent(bytes)).toThrow(words);
});

test("modules of earlier versions of the ABI have no such section", () => {
  const [head, ...rest] = encodeModuleContent(CONTENT);
  expect([head, rest[0]]).toEqual([...new CborWriter().array(4).integer(CONTENT.abi).finish()]);
  const older = Uint8Array.of(head!, 10, ...rest.slice(1));
  expect(() => decodeModuleContent(older)).toThrow('the module has a section "tables"');
});
