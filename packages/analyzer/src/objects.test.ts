/** Objects: methods that clients call, as handlers like all others. */
import { expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { call, type Items } from "./testing/run.ts";

function buildOf(files: Readonly<Record<string, string>>): BuildResult {
  return buildWith({ ...buildInput(files), optimize: false }, slicer);
}

function built(files: Readonly<Record<string, string>>): BuildResult {
  const build = buildOf(files);
  expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return build;
}

const BASE = `
  import { Table, abort } from "@radical/sdk";
  type Reason = "spam" | "other";
  export class Closing { reason: Reason = "other"; at: i64 = 0; }
  export const closings = new Table<Closing>("closings");
  export class Topic {
    id: string = "";
    title: string = "";
    isClosed: bool = false;
    /** Changes the title. */
    rename(title: string): void { this.title = title; this.save(); }
    /** @internal */
    close(): void { this.isClosed = true; this.save(); }
    end(closing: Closing | null = null): void {
      if (closing != null) closings.put(this.id, closing);
      this.close();
    }
    protected count(): i32 { return 1; }
  }`;

const THREADS = `
  import { Objects, abort, caller } from "@radical/sdk";
  import { Topic } from "./lib/topics";
  export class Thread extends Topic {
    static readonly most: i32 = 3;
    posts: string[] = [];
    likes: i32 = 0;
    create(title: string, first: string = "none"): i32 {
      this.title = title;
      this.posts.push(first);
      this.save();
      return this.posts.length;
    }
    /** Adds a post. */
    reply(text: string): i32 {
      this.check();
      this.posts.push(text);
      this.save();
      return this.posts.length;
    }
    last(): string { return this.posts[this.posts.length - this.count()]; }
    get size(): i32 { return this.posts.length; }
    /** Moves the posts of another thread here. */
    merge(other: string): i32 {
      if (other == this.id) abort(400, "same", "It is the same thread.");
      const found = threads.get(other);
      if (found == null) abort(404, "no_other", "There is no other thread.");
      this.posts = this.posts.concat(found.posts);
      found.posts = [];
      found.close();
      this.save();
      return this.size;
    }
    private check(): void {
      if (this.isClosed) abort(409, "closed", "The thread is closed.");
      if (this.posts.length >= Thread.most) abort(409, "full", "The thread is full.");
    }
    rename(title: string): void { super.rename(title.toUpperCase()); }
  }
  const threads = new Objects<Thread>("threads");
  export class Poll extends Topic { votes: i32 = 0; vote(): i32 { this.votes++; this.save(); return this.votes; } create(): void { this.save(); } }
  const polls = new Objects<Poll>("polls");
  export function titleOf(id: string): string { const found = threads.get(id); return found == null ? "" : found.title; }`;

const FORUM = built({ "handlers/threads.ts": THREADS, "handlers/lib/topics.ts": BASE });

test("each public method is a handler, which is sliced", () => {
  expect(FORUM.handlers.map(({ name, plan }) => `${name} ${plan.kind}`)).toEqual([
    "Poll.create sliced",
    "Poll.end sliced",
    "Poll.rename sliced",
    "Poll.vote sliced",
    "Thread.create sliced",
    "Thread.end sliced",
    "Thread.last sliced",
    "Thread.merge sliced",
    "Thread.rename sliced",
    "Thread.reply sliced",
    "titleOf sliced",
  ]);
  const method = (wanted: string): BuildResult["handlers"][number] =>
    FORUM.handlers.find(({ name }) => name === wanted)!;
  expect(method("Thread.reply")).toMatchObject({
    readOnly: false,
    description: "Adds a post.",
    file: "handlers/threads.ts",
    abortCodes: ["closed", "full", "not_found"],
    tables: { reads: ["threads"], writes: ["threads"] },
  });
  expect(method("Thread.reply").parameters.map(({ name }) => name)).toEqual(["id", "text"]);
  expect(method("Thread.reply").reads.map(({ pattern }) => pattern)).toEqual(["threads/{id}"]);
  expect(method("Thread.last").readOnly).toBe(true);
  expect(method("Poll.rename")).toMatchObject({ file: "handlers/lib/topics.ts", description: "Changes the title." });
});

test("the methods run on their objects", () => {
  const items: Items = new Map();
  const answer = (handler: string, args: object): unknown => {
    const { outcome, result } = call(FORUM, items, handler, args);
    return outcome.kind === "result" ? result : outcome.kind === "abort" ? outcome.code : outcome;
  };
  expect(answer("Thread.reply", { id: "a", text: "x" })).toBe("not_found");
  expect(answer("Thread.create", { id: "a", title: "A" })).toBe(1);
  expect(answer("Thread.create", { id: "a", title: "B" })).toBe("already_exists");
  expect(answer("Thread.create", { id: "b", title: "B", first: "one" })).toBe(1);
  expect(answer("Thread.reply", { id: "a", text: "x" })).toBe(2);
  expect(answer("Thread.last", { id: "a" })).toBe("x");
  expect(answer("Thread.merge", { id: "a", other: "a" })).toBe("same");
  expect(answer("Thread.merge", { id: "a", other: "b" })).toBe(3);
  expect(answer("Thread.reply", { id: "a", text: "y" })).toBe("full");
  expect(answer("Thread.reply", { id: "b", text: "y" })).toBe("closed");
  expect(answer("Thread.rename", { id: "a", title: "new" })).toBe(null);
  expect(answer("titleOf", { id: "a" })).toBe("NEW");
  expect(answer("Poll.create", { id: "a" })).toBe(null);
  expect(answer("Poll.vote", { id: "a" })).toBe(1);
  expect(answer("Poll.end", { id: "a", closing: { reason: "spam", at: 1 } })).toBe(null);
  expect([...items.keys()].toSorted()).toEqual(["closings/a", "polls/a", "threads/a", "threads/b"]);
});

test("their sets are right on random calls", () => {
  const found = explore(FORUM, { strings: ["a", "b"], runs: 100, callsPerRun: 6 });
  expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
});

function codesOf(source: string): readonly string[] {
  return buildOf({ "handlers/h.ts": source }).diagnostics.map(({ code }) => code);
}

const HEAD = `import { Objects } from "@radical/sdk";\n`;

test("an object that a method changes and never saves is told", () => {
  const build = buildOf({
    "handlers/h.ts": `${HEAD}export class Note { id: string = ""; text: string = ""; set(text: string): void { this.text = text; } }
      const notes = new Objects<Note>("notes");`,
  });
  expect(build.diagnostics).toMatchObject([
    {
      code: "unsaved_change",
      message: "The change of this.text is lost, because Note.set never saves its object.",
      help: "Call `this.save()` after the changes. Or leave the change out.",
    },
  ]);
});

test("an object that is made and never saved is told", () => {
  const codes = (create: string): readonly string[] =>
    codesOf(`${HEAD}export class Note { id: string = ""; text: string = ""; create(text: string)${create} }
      const notes = new Objects<Note>("notes"); class Box { note: Note | null = null; }`);
  expect(codes(`: void { this.text = text; }`)).toEqual(["unsaved_change"]);
  expect(codes(`: void { const box = new Box(); box.note = this; }`)).toEqual(["unsaved_change"]);
  expect(codes(`: void { if (text != "") this.save(); }`)).toEqual([]);
  expect(codes(`: void { const box = new Box(); box.note = this; box.note!.save(); }`)).toEqual([]);
  expect(codes(`: Note { return this; }`)).toEqual([]);
});

test("what can't be is refused", () => {
  const note = (fields: string, rest = ""): readonly string[] =>
    codesOf(`${HEAD}export class Note { ${fields} show(): i32 { return 1; } }
      const notes = new Objects<Note>("notes"); ${rest}`);
  const unsaved = buildOf({
    "handlers/h.ts": `class Note { id: string = ""; } export function f(): void { new Note().save(); }`,
  }).diagnostics;
  expect(unsaved).toMatchObject([{ code: "type_error", help: expect.stringContaining("Only objects have `save()`.") }]);
  expect(note(`text: string = "";`)).toContain("unsupported_type");
  expect(note(`id: i32 = 0;`)).toContain("unsupported_type");
  expect(note(`id: string = "";`, `const more = new Objects<Note>("more");`)).toEqual(["duplicate_table"]);
  expect(note(`id: string = ""; find(id: string): void {}`)).toEqual(["invalid_handler_name"]);
  expect(note(`id: string = ""; /** @internal */ find(id: string): void {}`)).toEqual([]);
  const other = `const id = "x";`;
  expect(note(`id: string = ""; find(other: string = id): void {}`, other)).toEqual(["invalid_handler_name"]);
  expect(note(`id: string = ""; private find(other: string = id): void {}`, other)).toEqual([]);
  expect(
    codesOf(`${HEAD}export class Note { id: string = ""; }
    export function f(): bool { return new Objects<Note>("notes").has("a"); }`),
  ).toContain("table_not_constant");
  expect(
    codesOf(`${HEAD}export class Note { id: string = ""; }
    export function Note$show(): void {}`),
  ).toEqual(["invalid_handler_name"]);
});

test("a method need not say the type of its result", () => {
  const build = built({
    "handlers/h.ts": `${HEAD}
      export class Note {
        id: string = ""; text: string = "";
        create(text: string) { this.text = text; this.save(); }
        length() { return this.text.length; }
        shown() { return { title: this.text.toUpperCase(), size: this.length() }; }
        clear() { this.text = ""; this.save(); }
      }
      const notes = new Objects<Note>("notes");`,
  });
  const items: Items = new Map();
  expect(call(build, items, "Note.create", { id: "a", text: "xy" }).result).toBe(null);
  expect(call(build, items, "Note.length", { id: "a" }).result).toBe(2);
  expect(call(build, items, "Note.shown", { id: "a" }).result).toEqual({ title: "XY", size: 2 });
  expect(call(build, items, "Note.clear", { id: "a" }).result).toBe(null);
  expect(build.handlers.map(({ result }) => result?.kind)).toEqual([undefined, undefined, "i32", "record"]);
  expect(Object.keys(build.records).toSorted()).toEqual(["Note", "NoteShownResult"]);
});

test("a table of objects has ranges, and their rows are objects", () => {
  const build = built({
    "handlers/h.ts": `${HEAD}
      export class Note { id: string = ""; text: string = ""; near(): i32 { return notes.prefix(this.text).count() as i32; } }
      const notes = new Objects<Note>("notes");
      export function clear(prefix: string): void {
        for (const row of notes.prefix(prefix).first(10)) { row.value.text = ""; row.value.save(); }
      }`,
  });
  const patterns = build.handlers.map(({ name, plan, reads, writes }) => [
    `${name} ${plan.kind}`,
    ...reads.map(({ pattern }) => pattern),
    ...writes.map(({ pattern }) => `put ${pattern}`),
  ]);
  expect(patterns).toEqual([
    ["Note.near sliced", "notes/{id}", "notes/{text of notes/{id}}…, count"],
    ["clear sliced", "notes/{prefix}…, first 10", "put notes/{id of each of notes/{prefix}…}"],
  ]);
});

test("a method has tags, and a set of its own", () => {
  const build = built({
    "handlers/h.ts": `${HEAD}
      export class Note {
        id: string = ""; text: string = "";
        /** @nearstorage */
        near(): string { return this.text; }
        given(text: string): void { this.text = text; this.save(); }
        save(): void { notes.put(this.id, this); }
      }
      const notes = new Objects<Note>("notes");
      /** @readwrite Note.given */
      export function set(id: string, text: string): void { if (notes.has(id)) notes.willPut(id); }`,
  });
  expect(build.handlers.map(({ name, plan }) => `${name} ${plan.kind}`)).toEqual([
    "Note.given given",
    "Note.near near-storage",
    "Note.save sliced",
  ]);
  const found = explore(build, { strings: ["a", "b"], runs: 30, callsPerRun: 4 });
  expect(found.extraWrites).toBe(0);
});
