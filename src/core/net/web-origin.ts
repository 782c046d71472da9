/** Returns the origin of a web address in the form that browsers send; null for any other text. */
export function webOriginOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, origin } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? origin : null;
}
