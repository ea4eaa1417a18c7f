/**
 * The language server without its wire: the open documents of an editor, the projects that they belong to, and the last
 * analysis of each.
 *
 * One thread analyzes, one project at a time. A project is analyzed a moment after its last change, so that nothing is
 * analyzed between two key strokes. An analysis that a later change has overtaken is never shown. Errors of the
 * compilation, which follows the analysis in a build, are looked for when the developer pauses.
 *
 * The thread may end, say by a fault of the analyzer. The developer is told, another thread starts, and all
 * that was shown stays.
 */
import { existsSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Analysis, SourceFile } from "@radical/analyzer";
import {
  type CodeAction,
  CodeActionKind,
  type Diagnostic as ToldDiagnostic,
  type Hover,
  type Position,
  type Range,
  type WorkspaceEdit,
} from "vscode-languageserver";
import { TextDocument, type TextDocumentContentChangeEvent } from "vscode-languageserver-textdocument";
import { type Compiler, type AppSources, discoverSources, CONFIG_FILE, loadProject, type Project } from "@radical/app";
import { CommandError, messageOf } from "@radical/app/command-error";
import { handlerWords, shownAt } from "./hover.ts";
import { OpenFiles, pathOf } from "./open-files.ts";
import { type AnalyzedFiles, joinedEdits, rangeOf, toldDiagnostic, toldEdit, toldProblem } from "./told.ts";

/** From the last change of a project to its analysis. */
const SETTLE_MS = 100;
/** From an analysis without errors to the compilation. */
const PAUSE_MS = 400;
/** An analysis that takes longer is given up for a newer one. */
const PATIENCE_MS = 20_000;

export interface EditorPorts {
  /** Starts the thread that analyzes. */
  startCompiler(): Promise<Compiler>;
  /** Shows the diagnostics of a file in place of those before; the version is null unless the file is open. */
  publish(uri: string, version: number | null, diagnostics: readonly ToldDiagnostic[]): void;
  /** Tells the developer what they should know of the server itself. */
  tell(message: string): void;
  /** Calls after a time, unless what it gives is called before. */
  after(ms: number, run: () => void): () => void;
}

/** The abilities of a client that matter here. */
export interface EditorAbilities {
  /** Whether edits may name the version of the document that they are for. */
  readonly versionedEdits: boolean;
}

type Stage = "analysis" | "compilation";

/** An analysis, with the texts that it is of. */
interface Checked extends AnalyzedFiles {
  readonly stage: Stage;
  readonly sources: readonly SourceFile[];
  readonly analysis: Analysis;
  /** Versions of the files that were open, by path in the project. */
  readonly versions: ReadonlyMap<string, number>;
}

interface Watched {
  readonly root: string;
  /** Null: it is to be loaded. */
  project: Project | null;
  /** Counts changes. */
  edition: number;
  /** The next thing to do; null: there is nothing. */
  next: Stage | null;
  isDue: boolean;
  cancel: () => void;
  /** The last that was shown; null: none, or the application can't be built at all. */
  checked: Checked | null;
  /** The last without errors. */
  good: Checked | null;
  /** Those with diagnostics. */
  shownUris: ReadonlySet<string>;
  /** The change at which the thread has ended. */
  endedAt: number | null;
}

export class EditorSession {
  readonly files = new OpenFiles();
  readonly #ports: EditorPorts;
  readonly #abilities: EditorAbilities;
  readonly #projects = new Map<string, Watched>();
  #compiler: Promise<Compiler> | null = null;
  /** Null: the thread has nothing to do. */
  #working: Watched | null = null;
  #isOverdue = false;
  #isGivenUp = false;
  readonly #waiting: (() => void)[] = [];

  constructor(ports: EditorPorts, abilities: EditorAbilities) {
    this.#ports = ports;
    this.#abilities = abilities;
  }

  /** A folder of the workspace, which may be an application. */
  addFolder(uri: string): void {
    const path = pathOf(uri);
    if (path !== null && existsSync(join(path, CONFIG_FILE))) this.#changed(this.#projectAt(path));
  }

  opened(uri: string, version: number, text: string): void {
    this.#touched(this.files.open(uri, version, text));
  }

  edited(uri: string, version: number, changes: TextDocumentContentChangeEvent[]): void {
    this.#touched(this.files.change(uri, version, changes));
  }

  closed(uri: string): void {
    this.#touched(this.files.close(uri));
  }

  /** It was saved, or changed on the disk. */
  saved(uri: string): void {
    const path = pathOf(uri);
    if (path === null) return;
    if (path.endsWith(`${sep}${CONFIG_FILE}`)) this.#configured(dirname(path));
    else this.#touched(path);
  }

  hover(uri: string, position: Position): Hover | null {
    const place = this.#placeOf(uri);
    if (place === null) return null;
    const { project, file, document } = place;
    const { good, checked } = project;
    const latest = checked?.analysis.ok === true ? checked : good;
    if (latest === null) return null;
    const analyzed = latest.document(file);
    if (analyzed?.getText() === document.getText()) {
      const shown = shownAt(latest.analysis, file, document.offsetAt(position));
      return shown === null ? null : hoverOf(shown.markdown, rangeOf(shown.span, latest));
    }
    // Places have moved since; handlers are found by their names.
    const declared = declarationAt(document, position);
    const handler = latest.analysis.handlers.find((known) => known.file === file && known.name === declared?.name);
    if (handler === undefined || declared === null) return null;
    return hoverOf(`${handlerWords(handler)}\n\nThis is from before the last changes.`, declared.range);
  }

  /** Those that a range of a document offers: each fix, and all of the document at once where that is asked for. */
  codeActions(uri: string, range: Range, only: readonly string[] | null): readonly CodeAction[] {
    const place = this.#placeOf(uri);
    const checked = place?.project.checked ?? null;
    if (place === null || checked === null) return [];
    const { file } = place;
    const wants = (kind: string): boolean =>
      only === null || only.some((wanted) => kind === wanted || kind.startsWith(`${wanted}.`));
    const fixable = checked.analysis.diagnostics.flatMap((diagnostic) =>
      diagnostic.fix === undefined || diagnostic.primary.file !== file ? [] : [{ diagnostic, fix: diagnostic.fix }],
    );
    const actions: CodeAction[] = [];
    if (wants(CodeActionKind.QuickFix)) {
      for (const { diagnostic, fix } of fixable) {
        if (!touches(rangeOf(diagnostic.primary, checked), range)) continue;
        const edit = this.#editOf(fix.edits, checked);
        if (edit === null) continue;
        const diagnostics = [toldDiagnostic(diagnostic, checked)];
        actions.push({ title: fix.title, kind: CodeActionKind.QuickFix, diagnostics, isPreferred: true, edit });
      }
    }
    if (only !== null && wants(FIX_ALL) && fixable.length > 0) {
      const edit = this.#editOf(joinedEdits(fixable.map(({ fix }) => fix)), checked);
      if (edit !== null) actions.push({ title: "Apply all rewrites of Radical", kind: FIX_ALL, edit });
    }
    return actions;
  }

  /** Resolves when all that was changed is shown. */
  async settled(): Promise<void> {
    while (this.#working !== null || [...this.#projects.values()].some(({ next }) => next !== null))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    for (const project of this.#projects.values()) {
      project.cancel();
      project.next = null;
    }
    await this.#closeCompiler();
  }

  /** The workspace edit; null: one of the documents is not as it was analyzed. */
  #editOf(edits: Parameters<typeof joinedEdits>[0][number]["edits"], checked: Checked): WorkspaceEdit | null {
    const files = [...new Set(edits.map(({ span }) => span.file))];
    const changes = files.map((file) => {
      const uri = checked.uriOf(file);
      const open = this.files.document(pathOf(uri) ?? "");
      const isSame = open === null || open.getText() === checked.document(file)?.getText();
      const textEdits = edits.filter(({ span }) => span.file === file).map((edit) => toldEdit(edit, checked));
      return { uri, version: open?.version ?? null, isSame, edits: textEdits };
    });
    if (!changes.every(({ isSame }) => isSame)) return null;
    if (!this.#abilities.versionedEdits)
      return { changes: Object.fromEntries(changes.map(({ uri, edits: made }) => [uri, made])) };
    return {
      documentChanges: changes.map(({ uri, version, edits: made }) => ({
        textDocument: { uri, version },
        edits: made,
      })),
    };
  }

  #placeOf(uri: string): { readonly project: Watched; readonly file: string; readonly document: TextDocument } | null {
    const path = pathOf(uri);
    const document = path === null ? null : this.files.document(path);
    const root = path === null ? null : rootOf(path);
    const project = root === null ? undefined : this.#projects.get(root);
    if (path === null || document === null || project === undefined) return null;
    return { project, file: inProject(project.root, path), document };
  }

  #projectAt(root: string): Watched {
    const known = this.#projects.get(root);
    if (known !== undefined) return known;
    const project: Watched = {
      root,
      project: null,
      edition: 0,
      next: null,
      isDue: false,
      cancel: () => undefined,
      checked: null,
      good: null,
      shownUris: new Set(),
      endedAt: null,
    };
    this.#projects.set(root, project);
    return project;
  }

  #touched(path: string | null): void {
    if (path === null || !path.endsWith(".ts")) return;
    const root = rootOf(path);
    if (root !== null) this.#changed(this.#projectAt(root));
  }

  /** The configuration is another one, or there is none anymore. */
  #configured(root: string): void {
    const project = this.#projectAt(root);
    project.project = null;
    project.checked = null;
    this.#changed(project);
  }

  #changed(project: Watched): void {
    project.edition++;
    this.#plan(project, "analysis", SETTLE_MS);
  }

  #plan(project: Watched, stage: Stage, ms: number): void {
    project.cancel();
    project.next = stage;
    project.isDue = false;
    project.cancel = this.#ports.after(ms, () => {
      project.isDue = true;
      this.#work();
    });
  }

  /** Gives the thread the project that was changed last. */
  #work(): void {
    if (this.#working !== null) {
      this.#giveUp();
      return;
    }
    const due = [...this.#projects.values()].filter(({ isDue }) => isDue);
    const project = due.find(({ next }) => next === "analysis") ?? due[0];
    if (project === undefined) {
      for (const resolve of this.#waiting.splice(0)) resolve();
      return;
    }
    this.#working = project;
    this.#isOverdue = false;
    const cancel = this.#ports.after(PATIENCE_MS, () => {
      this.#isOverdue = true;
      this.#giveUp();
    });
    void this.#check(project).finally(() => {
      cancel();
      this.#working = null;
      this.#work();
    });
  }

  /** Ends the thread over an analysis that takes long, when there is a newer one to do. */
  #giveUp(): void {
    if (!this.#isOverdue || ![...this.#projects.values()].some(({ isDue }) => isDue)) return;
    this.#isOverdue = false;
    this.#isGivenUp = true;
    void this.#closeCompiler();
  }

  async #check(project: Watched): Promise<void> {
    const { edition, next } = project;
    const stage = next ?? "analysis";
    project.next = null;
    project.isDue = false;
    let found: AppSources;
    try {
      found = await this.#sourcesOf(project);
    } catch (error) {
      // A later change has its turn.
      if (project.edition === edition) this.#showProblem(project, problemOf(error));
      return;
    }
    let checked: Checked;
    try {
      checked = await this.#analyzed(project, found, stage);
    } catch (error) {
      await this.#ended(project, edition, error);
      return;
    }
    project.endedAt = null;
    if (project.edition !== edition) return;
    this.#show(project, checked);
    if (checked.analysis.ok && checked.stage === "analysis") this.#plan(project, "compilation", PAUSE_MS);
  }

  async #sourcesOf(project: Watched): Promise<AppSources> {
    project.project ??= await loadProject(project.root);
    return discoverSources(project.root, project.project.config.handlers, this.files);
  }

  async #analyzed({ root, checked: known }: Watched, found: AppSources, stage: Stage): Promise<Checked> {
    const { sources, handlerFiles } = found;
    const files = this.#filesOf(root, found);
    if (known !== null && isDeepStrictEqual(known.sources, sources)) {
      const isEnough = stage === "analysis" || known.stage === "compilation" || !known.analysis.ok;
      if (isEnough) return { ...known, ...files };
    }
    this.#compiler ??= this.#ports.startCompiler();
    const compiler = await this.#compiler;
    const modules = stage === "compilation";
    const { ok, diagnostics, handlers, services, tables, indexes, records, named } = await compiler.compile({
      sources,
      handlerFiles,
      optimize: false,
      modules,
    });
    return {
      ...files,
      stage,
      sources,
      analysis: { ok, diagnostics, handlers, services, tables, indexes, records, named },
    };
  }

  #filesOf(root: string, { sources }: AppSources): AnalyzedFiles & Pick<Checked, "versions"> {
    const documents = new Map(
      sources.map(({ path, text }) => [path, TextDocument.create(path, "typescript", 0, text)] as const),
    );
    const versions = sources.flatMap(({ path }) => {
      const open = this.files.document(join(root, path));
      return open === null ? [] : [[path, open.version] as const];
    });
    return {
      document: (file) => documents.get(file),
      uriOf: (file) => this.files.uriOf(join(root, file)),
      versions: new Map(versions),
    };
  }

  #show(project: Watched, checked: Checked): void {
    project.checked = checked;
    if (checked.analysis.ok) project.good = checked;
    const told = new Map<string, ToldDiagnostic[]>();
    for (const diagnostic of checked.analysis.diagnostics) {
      const uri = checked.uriOf(diagnostic.primary.file);
      told.set(uri, [...(told.get(uri) ?? []), toldDiagnostic(diagnostic, checked)]);
    }
    const versions = new Map([...checked.versions].map(([file, version]) => [checked.uriOf(file), version]));
    this.#publish(project, told, versions);
  }

  #showProblem(project: Watched, error: CommandError): void {
    project.checked = null;
    const path = join(project.root, CONFIG_FILE);
    const uri = this.files.uriOf(path);
    const version = this.files.document(path)?.version;
    const told = existsSync(path) ? [[uri, [toldProblem(error)]] as const] : [];
    this.#publish(project, new Map(told), new Map(version === undefined ? [] : [[uri, version]]));
  }

  /** `versions` are of the open files: these are told also that nothing is wrong. */
  #publish(
    project: Watched,
    told: ReadonlyMap<string, readonly ToldDiagnostic[]>,
    versions: ReadonlyMap<string, number>,
  ): void {
    for (const uri of new Set([...project.shownUris, ...versions.keys(), ...told.keys()]))
      this.#ports.publish(uri, versions.get(uri) ?? null, told.get(uri) ?? []);
    project.shownUris = new Set(told.keys());
  }

  /** The thread has ended, or the analyzer has thrown: another thread starts, and takes the same texts at most once more. */
  async #ended(project: Watched, edition: number, error: unknown): Promise<void> {
    const isGivenUp = this.#isGivenUp;
    this.#isGivenUp = false;
    await this.#closeCompiler();
    if (project.edition !== edition) return;
    if (isGivenUp) {
      this.#plan(project, "analysis", SETTLE_MS);
      return;
    }
    const isAgain = project.endedAt === edition;
    project.endedAt = edition;
    const words = `The analyzer has ended: ${messageOf(error)}.`;
    if (isAgain) {
      this.#ports.tell(`${words} It ended twice over the same files, and starts again with the next change.`);
      return;
    }
    this.#ports.tell(`${words} It starts again.`);
    this.#plan(project, "analysis", 0);
  }

  async #closeCompiler(): Promise<void> {
    const started = this.#compiler;
    this.#compiler = null;
    try {
      await (await started)?.close();
    } catch {
      // It did not even start, which its user is told.
    }
  }
}

/** Why there is nothing to analyze. */
function problemOf(error: unknown): CommandError {
  return error instanceof CommandError
    ? error
    : new CommandError(
        "sources_not_read",
        `The handlers can't be read: ${messageOf(error)}.`,
        "Make the file readable.",
      );
}

const FIX_ALL = `${CodeActionKind.SourceFixAll}.radical`;

/** The nearest folder around a file that is an application; null: there is none. */
function rootOf(path: string): string | null {
  if (path.split(sep).includes("node_modules")) return null;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (existsSync(join(folder, CONFIG_FILE))) return folder;
    if (folder === dirname(folder)) return null;
  }
}

function inProject(root: string, path: string): string {
  return relative(root, path).split(sep).join("/");
}

function hoverOf(markdown: string, range: Range): Hover {
  return { contents: { kind: "markdown", value: markdown }, range };
}

/** The function that is declared in the line, if the position is on its name. */
function declarationAt(
  document: TextDocument,
  { line, character }: Position,
): { readonly name: string; readonly range: Range } | null {
  const start = { line, character: 0 };
  const text = document.getText({ start, end: { line: line + 1, character: 0 } });
  const found = /\bfunction\s+(?<name>[\w$]+)/d.exec(text);
  const [from, to] = found?.indices?.groups?.["name"] ?? [0, 0];
  const name = found?.groups?.["name"];
  if (name === undefined || character < from || character > to) return null;
  return { name, range: { start: { line, character: from }, end: { line, character: to } } };
}

function touches(a: Range, b: Range): boolean {
  return isUpTo(a.start, b.end) && isUpTo(b.start, a.end);
}

function isUpTo(a: Position, b: Position): boolean {
  return a.line < b.line || (a.line === b.line && a.character <= b.character);
}
