import type { StreamPart } from '../../src/contract/parts.ts';
import type { Frame, HttpCall, PreparedProvider, ProviderCall, WireAdapter } from '../../src/contract/provider.ts';
import { frameParser } from '../../src/providers/frames.ts';

/** Returns the request that an adapter makes from a call, with its body read. Throws if the adapter refuses the call. */
export function wireRequest(adapter: WireAdapter, call: ProviderCall) {
  const made: HttpCall | object = adapter.request(call);
  if (!('body' in made)) throw new Error(`refused: ${JSON.stringify(made)}`);
  const body: Record<string, unknown> = JSON.parse(made.body);
  return { ...made, body };
}

/** Returns a prepared adapter that uses the network. */
export function wireAdapter(prepared: PreparedProvider): WireAdapter & Pick<PreparedProvider, 'lacks'> {
  if (prepared.kind !== 'wire') throw new Error('not a wire adapter');
  return prepared;
}

/** Returns the frames in the text of a stream. */
export function framesOf(text: string): readonly Frame[] {
  const parser = frameParser('sse');
  return [...parser.push(text), ...parser.end()];
}

/** Returns the parts in the text of a stream. */
export function streamed(adapter: WireAdapter, text: string): StreamPart[] {
  const reader = adapter.stream();
  return framesOf(text).flatMap((frame) => reader.read(frame));
}
