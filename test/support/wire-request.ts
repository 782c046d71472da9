import type { HttpCall, ProviderCall, WireAdapter } from '../../src/contract/provider.ts';

/** What an adapter makes of a call, with its body read. Throws where it refuses the call. */
export function wireRequest(adapter: WireAdapter, call: ProviderCall) {
  const made: HttpCall | object = adapter.request(call);
  if (!('body' in made)) throw new Error(`refused: ${JSON.stringify(made)}`);
  const body: Record<string, unknown> = JSON.parse(made.body);
  return { ...made, body };
}
