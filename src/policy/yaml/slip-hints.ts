import type { Tree } from './tree.ts';

/** A key and its value that YAML reads as one text, because no space follows the colon: `window:day`. */
const WITHOUT_SPACE = /^([A-Za-z_][\w-]*):([^\s:/].*)$/;

/** Returns the hint for a key without a space after its colon; undefined for any other text. @param known the keys that are allowed here */
export function missingSpaceHint(text: string, known?: readonly string[]): string | undefined {
  const [, key, value] = WITHOUT_SPACE.exec(text.trim()) ?? [];
  if (key === undefined || (known && !known.includes(key))) return undefined;
  return `a colon needs a space after it: write \`${key}: ${value}\``;
}

/** A reference to an environment variable in the style of shells and other gateways: `$NAME`, `${NAME}`, `os.environ/NAME`. */
const REFERENCE = /(?:\$\{?|^os\.environ\/)([A-Za-z_]\w*)(?:\}|\b)/;

/** Returns the name of the variable that a text refers to; undefined if the text refers to no variable. */
export const variableIn = (text: string): string | undefined => REFERENCE.exec(text)?.[1];

/** Keys that have a second form ending in `_env`, which takes the name of a variable. */
const WITH_TWIN: ReadonlySet<string> = new Set(['base_url', 'api_key']);

/** Makes the hint that says how to give a key the value of a variable. */
export function variableHint(key: string, variable: string): string {
  const name = variable.toUpperCase();
  if (WITH_TWIN.has(key)) return `write \`${key}_env: ${name}\`; the variable holds the whole value`;
  return 'write the value itself';
}

/** Returns the hint for a budget or rate limit that names its team in a key such as `team: legal`; undefined for other keys. */
export function ownerHint(key: string, value: string, known: readonly string[]): string | undefined {
  if (key !== 'team' || !known.includes('match') || !known.includes('each')) return undefined;
  const name = JSON.stringify(value);
  return `write \`match: team.name == ${name}\` for the keys of a team, or \`match: key.labels.team == ${name}\` for keys with a label \`team\``;
}

/** Returns the hint for a reference to a variable in a key for which only the `_env` form exists, such as `api_key: ${NAME}`. */
export function twinHint(key: string, value: string, known: readonly string[]): string | undefined {
  const variable = variableIn(value);
  return variable !== undefined && known.includes(`${key}_env`) ? variableHint(key, variable) : undefined;
}

/** Removes floating-point noise from a number. */
export const rounded = (value: number): number => Number(value.toPrecision(12));

/** An amount with the sign or name of dollars on one side, and perhaps a period: `$5`, `1,000 USD`, `$5/day`. */
const USD =
  /^(US\$|\$|USD)?\s*(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s*(US\$|\$|USD|dollars?)?(?:\s*(?:\/|per)\s*\w+)?$/i;

/** Returns the amount in a text such as `$5`, `5 USD` or `0.50$`; undefined for other texts. */
export function usdIn(text: string): number | undefined {
  const [, before, digits, after] = USD.exec(text) ?? [];
  return digits !== undefined && (before || after) ? Number(digits.replaceAll(',', '')) : undefined;
}

/**
 * Returns the hint for the digits after a comma, which YAML reads as a key of their own within braces; undefined for other keys.
 * @param owner the map within braces
 */
export function commaHint(key: string, owner: Tree | undefined): string | undefined {
  if (!/^\d{3}(?:\.\d+)?$/.test(key) || owner?.kind !== 'map') return undefined;
  const before = owner.entries[owner.entries.findIndex((entry) => entry.key === key) - 1];
  if (before?.value.kind !== 'scalar' || !/^\$?\d{1,3}$/.test(before.value.source)) return undefined;
  return `within braces, an amount with a comma needs quotes: write \`${before.key}: "${before.value.source},${key}"\``;
}

/** Returns the remedy for an amount of USD in an unknown key of a map that has a key for Credits; undefined for other keys. */
export function usdKeyHint(key: string, value: string, known: readonly string[]) {
  const meant = known.find((one) => one.endsWith('_credits'));
  if (meant === undefined) return undefined;
  const usd = usdIn(value) ?? (/usd|dollar/i.test(key) && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined);
  if (usd === undefined) return undefined;
  const inUsd = meant.replace(/_credits$/, '_usd');
  return { hint: known.includes(inUsd) ? `write \`${inUsd}: ${usd}\`` : `write \`${meant}: ${usd} USD\``, meant };
}

/** The most characters of a text that is read as several names. */
const ALTERNATIVES_LENGTH_MAX = 1_000;

/** Returns the names in a text such as `a or b`, `a, b` or `a|b`; undefined for any other text. */
export function alternativesIn(text: string): readonly string[] | undefined {
  if (text.length > ALTERNATIVES_LENGTH_MAX) return undefined;
  const names = text.trim().split(/\s+or\s+|\s*,\s*|\s*\|{1,2}\s*/i);
  return names.length > 1 && names.every((name) => /^[\w.:/@+-]+$/.test(name)) ? names : undefined;
}
