/** From least to most, as callers know them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** OpenAI’s open models always reason, at one of these, whoever serves them. */
const OF_GPT_OSS: readonly Effort[] = ['low', 'medium', 'high'];

/** What a model takes of those that its server takes; an empty list takes all. */
export function effortsOf(upstream: string, ofServer: readonly Effort[]): readonly Effort[] {
  if (!/gpt-oss/i.test(upstream)) return ofServer;
  const both = OF_GPT_OSS.filter((effort) => ofServer.length === 0 || ofServer.includes(effort));
  return both.length > 0 ? both : ofServer;
}

/** The effort asked for, or the next that there is: of `taken`, which ascend. What nobody knows stays as it is. */
export function rounded(asked: string, taken: readonly Effort[]): string {
  const at = placeOf(asked);
  if (at < 0 || taken.length === 0) return asked;
  return taken.find((effort) => placeOf(effort) >= at) ?? taken.at(-1) ?? asked;
}

const placeOf = (effort: string): number => (EFFORTS as readonly string[]).indexOf(effort);
