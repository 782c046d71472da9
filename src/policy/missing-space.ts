/** A key and its value that YAML reads as one text, because no space follows the colon: `window:day`. */
const WITHOUT_SPACE = /^([A-Za-z_][\w-]*):([^\s:/].*)$/;

/** The hint for a key without a space after its colon; undefined for any other text. `known`: the keys that fit here. */
export function missingSpaceHint(text: string, known?: readonly string[]): string | undefined {
  const [, key, value] = WITHOUT_SPACE.exec(text.trim()) ?? [];
  if (key === undefined || (known && !known.includes(key))) return undefined;
  return `a colon needs a space after it: write \`${key}: ${value}\``;
}
