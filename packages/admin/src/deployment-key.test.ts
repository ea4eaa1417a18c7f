import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAdministrationKeys, privateKeyText, publicKeyText } from "./administration-key.ts";
import { KEY_FILE, loadDeploymentKeys, serverKeysText } from "./deployment-key.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-keys-"));
});
afterEach(() => rm(folder, { recursive: true }));

const file = (): string => join(folder, KEY_FILE);
const modeOf = async (): Promise<number> => (await stat(file())).mode & 0o777;

test("keys are made once, for their owner alone; a server is given no private half", async () => {
  const keys = await loadDeploymentKeys(folder);
  expect(await loadDeploymentKeys(folder)).toEqual(keys);
  expect(await modeOf()).toBe(0o600);
  const { location, administration } = keys;
  expect(serverKeysText(keys)).toBe(`${location.id}:${location.secret},${publicKeyText(administration)}`);
  expect(serverKeysText(keys)).not.toContain(administration.privateHalf);
  expect(parseAdministrationKeys(privateKeyText(administration))).toEqual([administration]);
});

test("a folder of a release with one key keeps it for locations, and gets one of administration", async () => {
  const before = { id: "dev", secret: "5e".repeat(32) };
  await writeFile(file(), `${JSON.stringify(before)}\n`);
  const keys = await loadDeploymentKeys(folder);
  expect(keys.location).toEqual(before);
  expect(await loadDeploymentKeys(folder)).toEqual(keys);
  expect([await readdir(folder), await modeOf()]).toEqual([[KEY_FILE], 0o600]);
  // Such a release finds its key where it was.
  expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject(before);
});

test.each(["", "{}", '{"id":"dev","secret":"5e"}', `{"id":"dev","secret":"${"5e".repeat(32)}","administration":{}}`])(
  "%s is refused, and stays as it is",
  async (text) => {
    await writeFile(file(), text);
    await expect(loadDeploymentKeys(folder)).rejects.toMatchObject({ code: "key_invalid" });
    expect(await readFile(file(), "utf8")).toBe(text);
  },
);

test.each([
  "x",
  "a:b",
  `a:ed25519:${"0f".repeat(32)}`,
  "a:ed25519-private:0f",
  `a b:ed25519-private:${"0f".repeat(32)}`,
])("%s is not a private half", (text) => {
  expect(parseAdministrationKeys(text)).toBeNull();
  expect(parseAdministrationKeys(`${privateKeyText({ id: "a", privateHalf: "0f".repeat(32) })},${text}`)).toBeNull();
});
