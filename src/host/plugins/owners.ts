/**
 * Maps each file to the operator's plugin that it belongs to. Signalbox never removes a file from this map, because code stays loaded in
 * the process. State: plugin code.
 */
const owners = new Map<string, string>();

/** Records which plugin the files belong to, before the code of the files runs. `specifier`: the plugin's name in the policy. */
export function claimFiles(files: readonly string[], specifier: string): void {
  for (const file of files) owners.set(file, specifier);
}

/** Returns the specifier of the plugin whose file comes first in a stack; null for none. */
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

/**
 * Returns the offset of a file in a stack, where an import hash or a line number follows the file; negative if the stack does not contain
 * the file.
 */
function placeOf(file: string, stack: string): number {
  let at = stack.indexOf(file);
  while (at >= 0 && !/[?:]/.test(stack.charAt(at + file.length))) at = stack.indexOf(file, at + 1);
  return at;
}
