/** A key and its value that YAML reads as one text, because no space follows the colon: `window:day`. */
const WITHOUT_SPACE = /^([A-Za-z_][\w-]*):([^\s:/].*)$/;

/** The hint for a key without a space after its colon; undefined for any other text. `known`: the keys that fit here. */
export function missingSpaceHint(text: string, known?: readonly string[]): string | undefined {
  const [, key, value] = WITHOUT_SPACE.exec(text.trim()) ?? [];
  if (key === undefined || (known && !known.includes(key))) return undefined;
  return `a colon needs a space after it: write \`${key}: ${value}\``;
}

/** A reference to an environment variable, as shells and other gateways fill them in: `$NAME`, `${NAME}`. */
const REFERENCE = /\$\{?([A-Za-z_]\w*)(?:\}|\b)/;

/** The name of the variable that a text refers to; undefined if it refers to none. */
export const variableIn = (text: string): string | undefined => REFERENCE.exec(text)?.[1];

/** Keys with a twin that takes the name of a variable. */
const WITH_TWIN: ReadonlySet<string> = new Set(['base_url', 'api_key']);

/** The form in which a key takes the value of a variable. */
export function variableHint(key: string, variable: string): string {
  const name = variable.toUpperCase();
  if (WITH_TWIN.has(key)) return `write \`${key}_env: ${name}\`; the variable holds the whole value`;
  return key.endsWith('_env') ? `write \`${key}: ${name}\`` : 'write the value itself';
}

const FALLBACKS =
  'Signalbox ranks the fallbacks of each request itself. Remove this key: a constraint says which models may serve, `gateway.alternatives` how many are kept, and `endpoints` lists other providers of one model';

/** Keys of other gateways → the Signalbox way. */
const FOREIGN_KEYS: ReadonlyMap<string, string> = new Map([
  ...['fallback', 'fallbacks', 'fallback_models', 'default_fallbacks', 'context_window_fallbacks'].map(
    (key) => [key, FALLBACKS] as const,
  ),
  ['rpm', 'write `requests_per_minute`'],
  ['tpm', 'write `tokens_per_minute`'],
]);

/** The hint for a key that other gateways have; undefined for other keys. */
export const foreignKeyHint = (key: string): string | undefined => FOREIGN_KEYS.get(key);

/** Without the noise of doubles. */
export const rounded = (value: number): number => Number(value.toPrecision(12));

/** The amount of a text such as `$5`, `5 USD` or `0.50$`; undefined for other texts. */
export function usdIn(text: string): number | undefined {
  const [, before, digits, after] = /^(\$?)\s*(\d+(?:\.\d+)?)\s*(\$|USD)?$/i.exec(text) ?? [];
  return digits !== undefined && (before || after) ? Number(digits) : undefined;
}

/** The hint for USD under a key that counts Credits. */
export const creditsHint = (key: string, usd: number): string =>
  `write Credits: at 0.001 USD each, the default of \`usd_per_credit\`, ${usd} USD are \`${key}: ${rounded(usd * 1000)}\``;

/** The hint for an amount of USD under an unknown key beside a key that counts Credits; undefined for other keys. */
export function usdKeyHint(key: string, value: string, known: readonly string[]): string | undefined {
  const counted = known.find((one) => one.endsWith('_credits'));
  if (counted === undefined) return undefined;
  const usd = usdIn(value) ?? (/usd|dollar/i.test(key) && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined);
  return usd === undefined ? undefined : creditsHint(counted, usd);
}
