import { expect, test } from "vitest";
import { licenceTexts, softwareBill } from "./bill-of-materials.ts";
import { serverFiles } from "./server-artefact.ts";

const PACKAGES = [
  { name: "@scope/one", version: "1.0.0", licence: "MIT", text: "Permission is granted" },
  { name: "two", version: "2.0.0", licence: "(MIT OR Apache-2.0)", text: "" },
];

interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly components: readonly { readonly purl: string; readonly licenses?: readonly object[] }[];
}

test("the bill names each package with its version and licence, and neither a time nor a number", () => {
  const bill = softwareBill("1.2.3", PACKAGES);
  expect(JSON.parse(bill)).toMatchObject({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    components: [
      {
        group: "@scope",
        name: "one",
        version: "1.0.0",
        purl: "pkg:npm/%40scope/one@1.0.0",
        licenses: [{ expression: "MIT" }],
      },
      { name: "two", purl: "pkg:npm/two@2.0.0", licenses: [{ expression: "(MIT OR Apache-2.0)" }] },
    ],
  });
  expect(bill).not.toMatch(/timestamp|serialNumber/);
  expect(softwareBill("1.2.3", PACKAGES.toReversed())).toBe(bill);
});

test("the texts of the licences stand under the names of their packages", () => {
  expect(licenceTexts(PACKAGES)).toMatch(/^@scope\/one 1\.0\.0 \(MIT\)\n\nPermission is granted\n\n─+\ntwo 2\.0\.0/);
});

test("the bundled server: all of its packages have a licence that lets them travel", async () => {
  const files = await serverFiles();
  const { components } = JSON.parse(files["bill-of-materials.cdx.json"]!) as Bill;
  const purls = components.map(({ purl }) => purl.replace(/@[^@]*$/, ""));
  expect(purls).toEqual(
    expect.arrayContaining([
      "pkg:npm/%40radical/lvi-server",
      "pkg:npm/%40aws-sdk/client-dynamodb",
      "pkg:npm/prom-client",
    ]),
  );
  for (const { purl, licenses } of components) {
    const [licence] = (licenses ?? []) as readonly { readonly expression?: string }[];
    expect([purl, licence?.expression]).toEqual([
      purl,
      expect.stringMatching(/^(?:MIT|Apache-2\.0|ISC|0BSD|BSD-[23]-Clause)$/),
    ]);
  }
  expect(files["LICENSES.txt"]).toContain("Permission is hereby granted");
});
