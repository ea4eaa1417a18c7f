/**
 * The packages whose files are in the bundled server, with their versions and licences. There is a bill of CycloneDX for scanners. The
 * texts of the licences have to travel with the code.
 */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An expression of SPDX. */
  readonly licence: string;
  /** Empty: the package has none of its own. */
  readonly text: string;
}

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)(?:\.(?:md|txt))?$/i;

/** The packages that these files, paths from here, belong to; by their names, each version once. */
export async function componentsOf(files: readonly string[]): Promise<readonly BundledPackage[]> {
  const byFolder = new Map<string, Promise<BundledPackage | null>>();
  const packageAt = (folder: string): Promise<BundledPackage | null> => {
    const known = byFolder.get(folder);
    if (known !== undefined) return known;
    const above = dirname(folder);
    const found = describe(folder).then((one) => one ?? (above === folder ? null : packageAt(above)));
    byFolder.set(folder, found);
    return found;
  };
  const packages = await Promise.all(files.map((file) => packageAt(dirname(resolve(file)))));
  const byName = new Map(
    packages.filter((one) => one !== null).map((one) => [`${one.name}@${one.version}`, one] as const),
  );
  return [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Null: this folder is not that of a package. Those without a version only say how files are to be read. */
async function describe(folder: string): Promise<BundledPackage | null> {
  let text: string;
  try {
    text = await readFile(join(folder, "package.json"), "utf8");
  } catch {
    return null;
  }
  const { name, version, license } = JSON.parse(text) as Readonly<Record<"name" | "version" | "license", unknown>>;
  if (typeof name !== "string" || typeof version !== "string") return null;
  const names = (await readdir(folder)).filter((file) => LICENCE_FILE.test(file)).toSorted();
  const texts = await Promise.all(names.map((file) => readFile(join(folder, file), "utf8")));
  return {
    name,
    version,
    licence: typeof license === "string" ? license : "NOASSERTION",
    text: texts.map((one) => one.trim()).join("\n\n"),
  };
}

/** The bill as JSON. It has no time and no number, so that the same packages give the same bytes. */
export function softwareBill(version: string, packages: readonly BundledPackage[]): string {
  const component = ({ name, version: of, licence }: Omit<BundledPackage, "text">, type: Enums.ComponentType) => {
    const [last = "", group] = name.split("/").toReversed();
    const purl = `pkg:npm/${group === undefined ? "" : `${group.replace("@", "%40")}/`}${last}@${of}`;
    const made = new Models.Component(type, last, {
      version: of,
      purl,
      bomRef: purl,
      ...(group === undefined ? {} : { group }),
    });
    if (licence !== "NOASSERTION") made.licenses.add(new Models.LicenseExpression(licence));
    return made;
  };
  const bill = new Models.Bom({
    metadata: new Models.Metadata({
      component: component(
        { name: "@radical/lvi-server-bundle", version, licence: "Apache-2.0" },
        Enums.ComponentType.Application,
      ),
    }),
  });
  for (const one of packages) bill.components.add(component(one, Enums.ComponentType.Library));
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bill, { sortLists: true, space: 2 })}\n`;
}

export function licenceTexts(packages: readonly BundledPackage[]): string {
  const line = "─".repeat(100);
  return packages
    .map(({ name, version, licence, text }) => `${name} ${version} (${licence})\n\n${text === "" ? "" : `${text}\n\n`}`)
    .join(`${line}\n`);
}
