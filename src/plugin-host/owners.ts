/** The operators' code of this process: each file, with the plugin whose code it is. Code stays loaded, so nothing is forgotten. */
const owners = new Map<string, string>();

/** Notes whose code these files are, before they run. `specifier`: the plugin, as the policy names it. */
export function claimFiles(files: readonly string[], specifier: string): void {
  for (const file of files) owners.set(file, specifier);
}

/** The plugin, as the policy names it, whose file is the first in a stack; null where no plugin's file is. */
export function pluginIn(stack: string): string | null {
  let first = Number.POSITIVE_INFINITY;
  let owner: string | null = null;
  for (const [file, specifier] of owners) {
    const at = placeOf(file, stack);
    if (at < 0 || at >= first) continue;
    first = at;
    owner = specifier;
  }
  return owner;
}

/** Where a file is in a stack: the hash that it was imported with follows, or the line. Below 0 where it is not. */
function placeOf(file: string, stack: string): number {
  let at = stack.indexOf(file);
  while (at >= 0 && !/[?:]/.test(stack.charAt(at + file.length))) at = stack.indexOf(file, at + 1);
  return at;
}
