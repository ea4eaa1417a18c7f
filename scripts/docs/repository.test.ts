import { expect, test } from "vitest";
import { repositoryPage } from "./repository.ts";

const PAGE = "https://github.com/radical/radical";

test.each([
  "git+https://github.com/radical/radical.git",
  "https://github.com/radical/radical.git",
  "https://github.com/radical/radical/",
  PAGE,
  "github:radical/radical",
  "radical/radical",
])("%s is shown at its page", (repository) => {
  expect(repositoryPage({}, { repository })).toBe(PAGE);
  expect(repositoryPage({}, { repository: { url: repository } })).toBe(PAGE);
});

test("the runner's own repository comes first, such as a fork", () => {
  const runner = { GITHUB_SERVER_URL: "https://github.com", GITHUB_REPOSITORY: "ann/radical" };
  expect(repositoryPage(runner, { repository: PAGE })).toBe("https://github.com/ann/radical");
  expect(repositoryPage({ ...runner, GITHUB_REPOSITORY: undefined }, { repository: PAGE })).toBe(PAGE);
});

test("nobody has said it", () => {
  expect(repositoryPage({}, {})).toBeNull();
});

test.each(["git@github.com:radical/radical.git", "ssh://git@github.com/radical/radical", "https://", "radical"])(
  "%s has no page",
  (repository) => {
    expect(() => repositoryPage({}, { repository })).toThrow(/names no page of the web\. Write its address/);
  },
);
