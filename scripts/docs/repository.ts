/** Where the source of these documents is to be seen. */

/**
 * The page of the repository, without a slash at the end; null: nobody has said it yet. A runner of GitHub Actions says it by its
 * variables, and else the field `repository` of the package.json does: https://docs.npmjs.com/cli/configuring-npm/package-json#repository
 */
export function repositoryPage(
  { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name }: Readonly<Record<string, string | undefined>>,
  manifest: { readonly repository?: string | { readonly url: string } },
): string | null {
  if (server !== undefined && name !== undefined) return `${server}/${name}`;
  if (manifest.repository === undefined) return null;
  const text = typeof manifest.repository === "string" ? manifest.repository : manifest.repository.url;
  const short = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(text)?.[1];
  const page = short === undefined ? text.replace(/^git\+(?=https:)/, "") : `https://github.com/${short}`;
  if (!/^https:\/\/[^/@]+\/./.test(page))
    throw new Error(
      `The "repository" of package.json, ${text}, names no page of the web. Write its address, as git+https://github.com/owner/name.git.`,
    );
  return page.replace(/\/?(?:\.git)?$/, "");
}
