/** Which processor cores the parts of the benchmark run on. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Lists of cores, as taskset has them. */
export interface Cores {
  readonly location: string;
  /** The client, the links, and the LVI server with its storage. */
  readonly others: string;
  readonly all: string;
}

/**
 * Gives the first core to locations and moves this process, and what it starts from now on, to the others. A location
 * has a machine of its own where it is deployed; here what it sends a packet to may be woken on its core and take the
 * processor from f. Null where there is one core, or no taskset that can do it: then all of them share what there is,
 * and the table says so.
 */
export async function separateCores(): Promise<Cores | null> {
  try {
    const { stdout } = await taskset("-cp", `${process.pid}`);
    const all = stdout.slice(stdout.lastIndexOf(":") + 1).trim();
    const [location, ...rest] = all.split(",").flatMap(coresOf);
    if (location === undefined || rest.length === 0) return null;
    const others = rest.join(",");
    await taskset("-a", "-cp", others, `${process.pid}`);
    return { location: `${location}`, others, all };
  } catch {
    return null;
  }
}

function taskset(...args: readonly string[]): Promise<{ readonly stdout: string }> {
  return promisify(execFile)("taskset", args);
}

/** Of `3` or `0-3`. */
function coresOf(range: string): readonly number[] {
  const [first, last = first] = range.split("-").map(Number) as [number, number?];
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
