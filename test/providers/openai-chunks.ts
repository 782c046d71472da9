import { openaiAdapter } from '../support/provider-call.ts';

const adapter = openaiAdapter();

/** Returns the parts of chunks, which are given as objects or as raw data. */
export function read(...chunks: (object | string)[]) {
  const reader = adapter.stream();
  return chunks.flatMap((chunk) =>
    reader.read({ event: '', data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk) }),
  );
}
export const delta = (fields: object, finish_reason: unknown = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason }],
});
export const calls = (...tool_calls: object[]) => delta({ tool_calls });
export const callPart = (index: number, id: string | undefined, name: string | undefined, args: string) => ({
  type: 'tool-call' as const,
  choice: 0,
  index,
  ...(id === undefined ? {} : { id }),
  ...(name === undefined ? {} : { name }),
  arguments: args,
});
