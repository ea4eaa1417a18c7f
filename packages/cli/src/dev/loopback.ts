/** Addresses and names that nobody but this machine reaches. */

export function isLoopbackName(name: string): boolean {
  return name === "localhost" || name === "[::1]" || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}
