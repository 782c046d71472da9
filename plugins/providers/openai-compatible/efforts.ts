/** The values of `reasoning_effort`, in ascending order. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** The efforts of OpenAI’s open models, which always reason, on any server. */
const OF_GPT_OSS: readonly Effort[] = ['low', 'medium', 'high'];

/** Returns the efforts that a model supports on its server. @param ofServer empty if the server supports all efforts */
export function effortsOf(upstream: string, ofServer: readonly Effort[]): readonly Effort[] {
  if (!/gpt-oss/i.test(upstream)) return ofServer;
  const both = OF_GPT_OSS.filter((effort) => ofServer.length === 0 || ofServer.includes(effort));
  return both.length > 0 ? both : ofServer;
}

/**
 * Returns the requested effort, or the nearest effort that the model supports. An unknown effort stays unchanged. @param supported in
 * ascending order
 */
export function nearestEffort(requested: string, supported: readonly Effort[]): string {
  const at = rankOf(requested);
  if (at < 0 || supported.length === 0) return requested;
  return supported.find((effort) => rankOf(effort) >= at) ?? supported.at(-1) ?? requested;
}

const rankOf = (effort: string): number => (EFFORTS as readonly string[]).indexOf(effort);
