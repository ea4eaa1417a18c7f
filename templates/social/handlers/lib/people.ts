/** People by their names. */
import { abort } from "@radical/sdk";
import { isName } from "./accounts";
import { Person, people } from "./records";

/** The person called `name`; aborts with 404 if there is none. */
export function findPerson(name: string): Person {
  const person = isName(name) ? people.get(name) : null;
  if (person == null) {
    abort(404, "no_such_person", `There is nobody called "${name}".`);
  }
  return person;
}
