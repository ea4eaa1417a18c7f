import { Objects } from "@radical/sdk";

export class Flag {
  id: string = "";
  isSet: bool = false;

  create(): void {
    this.save();
  }

  value(): bool {
    return this.isSet;
  }

  /**
   * Sets the flag, and gives its earlier value: of all that ask at once, one gets false.
   * @nearstorage
   */
  getAndSet(next: bool): bool {
    const before = this.isSet;
    if (before != next) {
      this.isSet = next;
      this.save();
    }
    return before;
  }
}

const flags = new Objects<Flag>("flags");
