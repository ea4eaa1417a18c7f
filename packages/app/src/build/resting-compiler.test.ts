import { expect, test } from "vitest";
import type { Compilation, Compiler } from "./compile.ts";
import { FIRST_REST_MS, REST_MS, RestingCompiler } from "./resting-compiler.ts";

interface Waiting {
  readonly ms: number;
  readonly call: () => void;
}

class World {
  readonly told: string[] = [];
  readonly waiting = new Set<Waiting>();
  #started = 0;
  readonly compiler = new RestingCompiler({
    start: () => {
      const name = ++this.#started;
      this.told.push(`start ${name}`);
      const asked = (what: string): void => void this.told.push(`${what} by ${name}`);
      return Promise.resolve<Compiler>({
        compile: ({ log }) => {
          asked("build");
          return log === undefined ? Promise.resolve({} as Compilation) : Promise.reject(new Error("it crashed"));
        },
        dataProgram: () => {
          asked("program");
          return Promise.resolve(new Uint8Array());
        },
        close: () => {
          asked("close");
          return Promise.resolve();
        },
      });
    },
    after: (ms, call) => {
      const one = { ms, call };
      this.waiting.add(one);
      return () => this.waiting.delete(one);
    },
    onIdle: () => this.told.push("idle"),
  });

  /** Lets the one timer end that there is. */
  pass(): number {
    const [one, ...others] = this.waiting;
    if (one === undefined || others.length > 0) throw new Error("there is not one timer");
    this.waiting.clear();
    one.call();
    return one.ms;
  }
}

const QUESTION = {} as Parameters<Compiler["compile"]>[0];
const CRASH = { log: "x" } as unknown as typeof QUESTION;

test("it starts at once, rests soon after the first build, and later only after a long pause", async () => {
  const { compiler, told, ...world } = new World();
  expect(told).toEqual(["start 1"]);
  expect(world.waiting.size).toBe(0);
  await compiler.compile(QUESTION);
  expect([...world.waiting].map(({ ms }) => ms)).toEqual([FIRST_REST_MS]);
  await compiler.rest();
  expect(world.waiting.size).toBe(0);
  await compiler.compile(QUESTION);
  expect([...world.waiting].map(({ ms }) => ms)).toEqual([REST_MS]);
  expect(told).toEqual(["start 1", "build by 1", "close by 1", "start 2", "build by 2"]);
});

test("when its time is over it says so once; a question before puts it off", async () => {
  const world = new World();
  await world.compiler.compile(QUESTION);
  await world.compiler.dataProgram("data");
  // Nobody has edited anything.
  expect(world.pass()).toBe(FIRST_REST_MS);
  expect(world.told.slice(1)).toEqual(["build by 1", "program by 1", "idle"]);
});

test("it does not rest while a question is under way", async () => {
  const { compiler, told } = new World();
  const asked = compiler.compile(QUESTION);
  await compiler.rest();
  await asked;
  expect(told).toEqual(["start 1", "build by 1"]);
});

test("after a crash the next question gets another one", async () => {
  const { compiler, told } = new World();
  await expect(compiler.compile(CRASH)).rejects.toThrow("it crashed");
  await compiler.compile(QUESTION);
  expect(told).toEqual(["start 1", "build by 1", "close by 1", "start 2", "build by 2"]);
});

test("closed, it waits for nothing more", async () => {
  const { compiler, told, waiting } = new World();
  await compiler.compile(QUESTION);
  await compiler.close();
  expect(told.at(-1)).toBe("close by 1");
  expect(waiting.size).toBe(0);
});
