/**
 * Writes the extension as a file that VS Code installs: `pnpm vsix [folder]`, default `packed/`. It prints its path.
 *
 * A `.vsix` is a zip archive of the extension, a manifest, and the types of its files. `@vscode/vsce` 4.1.0 makes the same
 * one. It brings 120 packages (88 MB), most of them for signing and publishing. So the archive is written directly, and
 * whoever publishes it runs `npx @vscode/vsce publish --packagePath`.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { strToU8, zipSync } from "fflate";

const PACKAGE = fileURLToPath(new URL("../", import.meta.url));
const LICENSE = fileURLToPath(new URL("../../../LICENSE", import.meta.url));

interface Manifest {
  readonly name: string;
  readonly displayName: string;
  readonly version: string;
  readonly description: string;
  readonly publisher: string;
  readonly engines: { readonly vscode: string };
  readonly categories: readonly string[];
  readonly extensionKind: readonly string[];
  readonly [other: string]: unknown;
}

/** By extension; files of other kinds are not packed. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".json": "application/json",
  ".cjs": "application/javascript",
  ".md": "text/markdown",
  ".txt": "text/plain",
  ".vsixmanifest": "text/xml",
};

/** The extension and all that it imports as one file; the editor has `vscode`. */
async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(PACKAGE, "src/extension.ts")],
    outfile: "extension.cjs",
    bundle: true,
    write: false,
    minify: true,
    platform: "node",
    format: "cjs",
    // That of the oldest VS Code that `engines` names.
    target: "node20",
    external: ["vscode"],
    legalComments: "inline",
  });
  return outputFiles[0]!.text;
}

function text(value: string): string {
  return value.replaceAll(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);
}

function vsixManifest(manifest: Manifest): string {
  const { name, displayName, version, description, publisher, engines, categories, extensionKind } = manifest;
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011" xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity Language="en-US" Id="${text(name)}" Version="${text(version)}" Publisher="${text(publisher)}"/>
    <DisplayName>${text(displayName)}</DisplayName>
    <Description xml:space="preserve">${text(description)}</Description>
    <Tags></Tags>
    <Categories>${text(categories.join(","))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${text(engines.vscode)}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionDependencies" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionPack" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${text(extensionKind.join(","))}"/>
      <Property Id="Microsoft.VisualStudio.Code.LocalizedLanguages" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.EnabledApiProposals" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.ExecutesCode" Value="true"/>
      <Property Id="Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown" Value="true"/>
      <Property Id="Microsoft.VisualStudio.Services.Content.Pricing" Value="Free"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/readme.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}

function contentTypes(): string {
  const types = Object.entries(CONTENT_TYPES).map(
    ([extension, type]) => `<Default Extension="${extension}" ContentType="${type}"/>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${types.join("")}</Types>
`;
}

/** The members of package.json that only the workspace needs. The packed code is CommonJS. */
const LEFT_OUT = new Set(["private", "type", "devDependencies"]);

/** Gives the path of the file in the folder. */
export async function packExtension(folder: string): Promise<string> {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as Manifest;
  const packed = Object.fromEntries(Object.entries(manifest).filter(([name]) => !LEFT_OUT.has(name)));
  const files: Readonly<Record<string, string>> = {
    "extension.vsixmanifest": vsixManifest(manifest),
    "extension/package.json": `${JSON.stringify(packed, null, 2)}\n`,
    "extension/extension.cjs": await bundle(),
    "extension/readme.md": readFileSync(join(PACKAGE, "README.md"), "utf8"),
    "extension/LICENSE.txt": readFileSync(LICENSE, "utf8"),
  };
  const unknown = Object.keys(files).find((name) => CONTENT_TYPES[extname(name)] === undefined);
  if (unknown !== undefined) throw new Error(`no content type is known for ${unknown}`);
  const archive = zipSync(
    Object.fromEntries(
      Object.entries({ "[Content_Types].xml": contentTypes(), ...files }).map(([name, content]) => [
        name,
        strToU8(content),
      ]),
    ),
    // The same sources make the same bytes.
    { level: 9, mtime: new Date(1980, 0, 1) },
  );
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${manifest.name}-${manifest.version}.vsix`);
  writeFileSync(path, archive);
  return path;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(await packExtension(resolve(process.argv[2] ?? "packed")));
