/** Opens the data file that each line of standard input names, and says what came of it. */
import { createInterface } from "node:readline";
import { SqliteStorage } from "../src/storage/sqlite-storage.ts";

createInterface(process.stdin).on("line", (file) => {
  let said = "opened";
  try {
    void new SqliteStorage(file).close();
  } catch (error) {
    said = error instanceof Error ? error.message : String(error);
  }
  process.stdout.write(`${JSON.stringify(said)}\n`);
});
