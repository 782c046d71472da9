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
