import { randomProgramTests } from "./random-program-tests.ts";

randomProgramTests(8);
