import { Objects, abort } from "@radical/sdk";

export class Plan {
  id: string = "";
  version: i64 = 1;
  text: string = "";

  create(text: string): void {
    this.text = text;
    this.save();
  }

  read(): Plan {
    return this;
  }

  /** Replaces the plan that the caller has read, and no other one. Gives the new version. */
  compareAndSet(version: i64, text: string): i64 {
    if (version != this.version) abort(409, "changed", "Somebody has changed the plan. Read it again.");
    this.version++;
    this.text = text;
    this.save();
    return this.version;
  }
}

const plans = new Objects<Plan>("plans");
