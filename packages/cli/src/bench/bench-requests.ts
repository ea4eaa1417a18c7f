/** What a benchmark asks the Workers of the systems themselves, and what they tell it besides their answers. */

/** `POST` of milliseconds by handler, as JSON. */
export const PACE_PATH = "/.bench/pace";
/** `POST` of an access without reads, whose writes are what is there from the beginning. */
export const FILL_PATH = "/.bench/fill";
/** Of an answer: position; 1 if it wrote, else 0; time; seed in base 16; what f took. */
export const EXECUTION_HEADER = "x-bench-execution";
